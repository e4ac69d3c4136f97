// The review queue at the left, the open record with all details at the right; decisions by keyboard.
import { Button, Group, Kbd, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouter } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { readList } from '../../api/api.ts'
import { clearNews, useNews } from '../../api/live.ts'
import { useActions } from '../../parts/actions.ts'
import { focusTitle } from '../../parts/arrival.ts'
import { useKeys } from '../../parts/keys.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { ChoiceFilter, Filters, FlagFilter, TextFilter } from '../../parts/filters.tsx'
import { News } from '../../parts/news.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { HELD_REASONS, SEVERITIES } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import { Bulk } from './bulk.tsx'
import { Detail, OPEN_RECORD } from './detail.tsx'
import { Entry } from './entry.tsx'
import { Help } from './help.tsx'
import { evidenceOf, type Action, type QueueItem } from './item.ts'
import { idOf, parseId, type RecordId } from './record-id.ts'

const route = getRouteApi('/review')
const QUEUE = 'GET /security/review-queue'
const REASONS = Object.keys(HELD_REASONS).map((value) => ({ value, label: value.replaceAll('_', ' ') }))

export default function Queue() {
  const search = route.useSearch()
  const { item, page = 1, size = 50, ...filters } = search
  const router = useRouter()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const change = route.useNavigate()
  const mayDecide = useMay('maintainer+')
  const codenames = useCodenames()
  const list = useQuery(readList(QUEUE, { query: { ...filters, page, per_page: size, include_findings: false } }))
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set())
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [action, setAction] = useState<Action | null>(null)
  const [bulk, setBulk] = useState<'approve' | 'reject' | null>(null)
  const [help, setHelp] = useState(false)
  const news = useNews(QUEUE)

  const items = list.data?.items ?? []
  const open = parseId(item) ?? items.find((one) => !decided.has(idOf(one))) ?? null
  const openId = open && idOf(open)
  const decidedHere = items.filter((one) => decided.has(idOf(one))).length
  const at = items.findIndex((one) => idOf(one) === openId)

  const show = useCallback(
    (one: QueueItem) => {
      setAction(null)
      void change({ search: (now) => ({ ...now, item: idOf(one) }), replace: true })
    },
    [change],
  )
  const address = router.buildLocation({ to: '/review', search: {} }).publicHref
  const hrefOf = (one: QueueItem) => address + router.options.stringifySearch({ ...search, item: idOf(one) })
  const move = (step: number) => {
    const one = items[Math.min(items.length - 1, Math.max(0, at + step))]
    if (one) show(one)
  }
  const toggle = useCallback((one: RecordId) => {
    const id = idOf(one)
    setSelected((now) => (now.has(id) ? new Set([...now].filter((other) => other !== id)) : new Set([...now, id])))
  }, [])
  const reload = () => {
    clearNews(QUEUE)
    // Decided rows stay marked until the new rows have arrived.
    const known = decided
    void list.refetch().then(() => setDecided((now) => new Set([...now].filter((id) => !known.has(id)))))
  }

  // Loads the next and the previous record before somebody opens them.
  useEffect(() => {
    for (const neighbour of [items[at + 1], items[at - 1]])
      if (neighbour) queries.query(evidenceOf(neighbour)).catch(() => undefined)
  }, [at, items, queries])
  useEffect(() => clearNews(QUEUE), [])
  // After a decision its form is gone: the next record gets the focus, and is read aloud.
  const hasDecided = useRef(false)
  useEffect(() => {
    if (!hasDecided.current) return
    hasDecided.current = false
    const next = document.getElementById(OPEN_RECORD)
    if (next) next.focus({ preventScroll: true })
    else focusTitle({ preventScroll: true })
  }, [openId])

  const onDecided = (records: RecordId[]) => {
    const ids = records.map(idOf)
    setDecided((now) => new Set([...now, ...ids]))
    setAction(null)
    hasDecided.current = true
    const isOpen = (one: QueueItem) => !decided.has(idOf(one)) && !ids.includes(idOf(one))
    const next = items.slice(at + 1).find(isOpen) ?? items.find(isOpen)
    if (next) show(next)
    else {
      // No record is left under the cursor: loads the rest of the queue.
      reload()
      void change({ search: (now) => ({ ...now, item: undefined }), replace: true })
    }
    void queries.invalidateQueries({ queryKey: ['GET /dashboard/summary'] })
  }

  /** From here on the address names the open record, so that a new first row does not replace it. */
  const keep = (record: RecordId) => void change({ search: (now) => ({ ...now, item: idOf(record) }), replace: true })
  const openForm = (one: Action | null) => {
    if (one && open) keep(open)
    setAction(one)
  }
  const onSettled = (record: RecordId) => {
    if (!items.some((one) => idOf(one) === idOf(record))) return
    keep(record)
    setDecided((now) => new Set([...now, idOf(record)]))
  }

  const decide = (one: Action) => {
    if (!mayDecide || !open) return
    if (selected.size > 0 && (one === 'accept_risk' || one === 'reject'))
      setBulk(one === 'reject' ? 'reject' : 'approve')
    else openForm(one)
  }
  const openPackage = () =>
    open && void navigate({ to: '/packages/$name', params: { name: open.name }, search: { version: open.version } })
  const what = open && `${open.name} ${open.version}`
  useActions(
    what
      ? [
          ...(mayDecide
            ? [
                { label: `Approve ${what}`, keys: 'a', run: () => decide('accept_risk') },
                { label: `Reject ${what}`, keys: 'r', run: () => decide('reject') },
                { label: `Require an upgrade of ${what}`, keys: 'u', run: () => decide('upgrade_required') },
              ]
            : []),
          { label: `Open the package ${what}`, keys: 'o', run: () => void openPackage() },
        ]
      : [],
  )
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => open && toggle(open),
    a: () => decide('accept_risk'),
    r: () => decide('reject'),
    u: () => decide('upgrade_required'),
    o: openPackage,
    '.': reload,
    '?': () => setHelp(true),
  })

  return (
    <Page
      title="Review"
      about={list.data && `${list.data.review_count - decidedHere} wait for a decision`}
      actions={
        <Button size="compact-sm" variant="default" onClick={() => setHelp(true)}>
          Keys{' '}
          <Kbd size="xs" ml={6}>
            ?
          </Kbd>
        </Button>
      }
    >
      <Filters>
        <TextFilter name="q" label="Package or advisory" value={filters.q} />
        <ChoiceFilter name="severity" label="Severity" value={filters.severity} choices={SEVERITIES} />
        <ChoiceFilter name="distribution" label="Distribution" value={filters.distribution} choices={codenames} />
        <ChoiceFilter name="reason" label="Held because" value={filters.reason} choices={REASONS} />
        <FlagFilter name="kev" label="Known exploited" value={filters.kev} />
        <FlagFilter name="fix" label="Has a fix" value={filters.fix} />
      </Filters>
      <News count={news} show={reload} />
      <Answer of={list}>
        {({ items: shown, total, pages }) =>
          shown.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : shown.length === 0 && !parseId(item) ? (
            <Empty
              title={Object.keys(filters).length > 0 ? 'Nothing in the queue matches' : 'Nothing waits for a decision'}
            >
              {Object.keys(filters).length > 0 ? (
                <Link to="/review">Show all</Link>
              ) : (
                'Packages that the policy holds appear here.'
              )}
            </Empty>
          ) : (
            <div className="split">
              <div>
                {mayDecide && selected.size > 0 && (
                  <Group gap="xs" mb="xs" role="status">
                    <Text size="sm">{selected.size} selected</Text>
                    <Button size="compact-sm" onClick={() => setBulk('approve')}>
                      Approve
                    </Button>
                    <Button size="compact-sm" variant="default" onClick={() => setBulk('reject')}>
                      Reject
                    </Button>
                    <Button size="compact-sm" variant="subtle" onClick={() => setSelected(new Set())}>
                      None
                    </Button>
                  </Group>
                )}
                <ul aria-label="Review queue" className="queue">
                  {shown.map((one) => (
                    <Entry
                      key={idOf(one)}
                      item={one}
                      href={hrefOf(one)}
                      isOpen={idOf(one) === openId}
                      isDecided={decided.has(idOf(one))}
                      isSelected={selected.has(idOf(one))}
                      open={show}
                      select={mayDecide ? toggle : null}
                    />
                  ))}
                </ul>
                <Pager page={page} pages={pages} total={total} what="in the queue" size={size} />
              </div>
              {open && (
                <Detail
                  key={openId}
                  record={open}
                  radius={items[at]?.blast_radius ?? null}
                  action={action}
                  setAction={openForm}
                  mayDecide={mayDecide}
                  onDecided={onDecided}
                  onSettled={onSettled}
                  onReopened={(record) => setDecided((now) => new Set([...now].filter((id) => id !== idOf(record))))}
                />
              )}
            </div>
          )
        }
      </Answer>
      {bulk && (
        <Bulk
          decision={bulk}
          records={[...selected]
            .map((id) => items.find((one) => idOf(one) === id) ?? parseId(id))
            .filter((one) => one !== null)}
          close={() => setBulk(null)}
          onDone={(failed) => {
            setDecided((now) => new Set([...now, ...[...selected].filter((id) => !failed.has(id))]))
            setSelected(failed)
          }}
        />
      )}
      <Help opened={help} close={() => setHelp(false)} />
    </Page>
  )
}
