// The review queue at the left, what is open at the right; decisions by keyboard.
import { Button, Kbd } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { clearNews, useNews } from '../../api/live.ts'
import { useActions } from '../../parts/actions.ts'
import { useKeys } from '../../parts/keys.ts'
import { Answer, Empty, Waiting } from '../../parts/answer.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { ChoiceFilter, Filters, FlagFilter, TextFilter } from '../../parts/filters.tsx'
import { News } from '../../parts/news.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd } from '../../parts/pager.tsx'
import { HELD_REASONS, SEVERITIES } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import { Bulk, type Chosen } from './bulk.tsx'
import { Detail } from './detail.tsx'
import { GroupDetail } from './group.tsx'
import { Help } from './help.tsx'
import { evidenceOf, QUEUE, type Action, type QueueItem } from './item.ts'
import { List } from './list.tsx'
import { idOf, parseId } from './record-id.ts'
import { parseGroup } from './rows.ts'
import { allToggled, extended, NOTHING, toggled, type Selection } from './selection.ts'
import { Toast, useUndo } from './toast.tsx'
import { useAnnounced } from './use-announced.ts'
import { useDecisions } from './use-decisions.ts'
import { useQueue, type QueueState } from './use-queue.ts'
import './review.css'

const REASONS = Object.keys(HELD_REASONS).map((value) => ({ value, label: value.replaceAll('_', ' ') }))

interface Several {
  decision: 'approve' | 'reject'
  records: readonly Chosen[]
}

export default function Queue() {
  const queue = useQueue()
  const { list, rows, open, at, decided, show, seen } = queue
  const mayDecide = useMay('maintainer+')
  const [selection, setSelection] = useState<Selection>(NOTHING)
  const [several, setSeveral] = useState<Several | null>(null)
  const [help, setHelp] = useState(false)
  const news = useNews(QUEUE)
  const { action, setAction, openForm, made, setMade, onDecided, onSettled, onSeveral, reload } = useDecisions(queue)
  const undo = useUndo(made, (ids) => {
    queue.unmark(ids)
    if (ids[0] !== undefined) show(ids[0])
    if (ids.some((id) => !rows.some((row) => row.id === id))) reload()
  })
  useNeighbours(queue)
  const announced = useAnnounced(queue)

  const goTo = useCallback(
    (id: string) => {
      setAction(null)
      show(id)
    },
    [setAction, show],
  )
  const ids = rows.flatMap((row) => (row.kind === 'record' ? [row.id] : []))
  const idsNow = useRef(ids)
  idsNow.current = ids
  const select = useCallback(
    (item: QueueItem, range: boolean) =>
      setSelection((now) => (range ? extended(now, idOf(item), idsNow.current) : toggled(now, idOf(item)))),
    [],
  )
  const move = (step: number, range = false) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, at + step))]
    if (!row) return
    if (range && mayDecide)
      setSelection((now) => extended(open?.kind === 'record' ? extended(now, open.id, ids) : now, row.id, ids))
    goTo(row.id)
  }
  const decideSeveral = (decision: Several['decision'], records: readonly Chosen[]) => {
    if (records.length > 0) setSeveral({ decision, records })
  }
  const ofSelection = () => [...selection.ids].flatMap((id) => seen.get(id) ?? parseId(id) ?? [])
  const decide = (one: Action) => {
    if (!mayDecide || !open) return
    const decision = one === 'reject' ? 'reject' : one === 'accept_risk' ? 'approve' : null
    if (selection.ids.size > 0 && decision) decideSeveral(decision, ofSelection())
    else if (open.kind === 'record') openForm(one)
    else if (decision)
      decideSeveral(
        decision,
        (queue.members.data?.items ?? []).filter((item) => !decided.has(idOf(item))),
      )
  }
  const shortcuts = useShortcuts(queue, { mayDecide, decide })
  useKeys({
    ...shortcuts,
    j: () => move(1),
    k: () => move(-1),
    J: () => move(1, true),
    K: () => move(-1, true),
    x: () => open?.kind === 'record' && mayDecide && setSelection((now) => toggled(now, open.id)),
    z: () => made && undo.mutate(made),
    '.': reload,
    '?': () => setHelp(true),
  })
  const waiting = list.data && list.data.review_count - [...decided].filter((id) => parseGroup(id) === null).length
  const approvalDays = list.data?.approval_days ?? 0
  const isFiltered = Object.keys(queue.filters).length > 0

  return (
    <div className="review" data-named={queue.isNamed || undefined}>
      <Page
        title="Review"
        about={
          list.data &&
          (isFiltered && !queue.group
            ? `${list.data.total} of ${waiting} that wait match`
            : `${Math.max(0, waiting ?? 0)} wait for a decision`)
        }
        actions={
          <Button size="compact-sm" variant="default" onClick={() => setHelp(true)}>
            Keys{' '}
            <Kbd size="xs" ml={6}>
              ?
            </Kbd>
          </Button>
        }
      >
        <QueueFilters filters={queue.filters} />
        <News count={news} show={reload} />
        <Answer of={list}>
          {({ total, pages }) =>
            rows.length === 0 && list.isPlaceholderData ? (
              // The rows of before are of another kind: records instead of groups, or the reverse.
              <Waiting />
            ) : rows.length === 0 && total > 0 ? (
              <PastEnd pages={pages} />
            ) : rows.length === 0 && !queue.isNamed ? (
              <Nothing isFiltered={isFiltered} />
            ) : (
              <div className="panes" data-named={queue.isNamed || undefined}>
                <List
                  {...{ queue, mayDecide, selection, select }}
                  selectAll={() => setSelection((now) => allToggled(now, ids))}
                  selectMatching={(items) => setSelection({ ids: new Set(items.map(idOf)), anchor: null })}
                  selectNone={() => setSelection(NOTHING)}
                  decide={(decision) => decideSeveral(decision, ofSelection())}
                  open={goTo}
                />
                <section className="open" aria-label="Open package" tabIndex={0}>
                  <Button className="back" size="compact-sm" variant="default" onClick={() => queue.back()}>
                    ← Back to the queue
                  </Button>
                  {open?.kind === 'record' && (
                    <Detail
                      key={open.id}
                      record={open.record}
                      radius={open.item?.blast_radius ?? null}
                      {...{ action, mayDecide, approvalDays, onDecided, onSettled }}
                      setAction={openForm}
                      onReopened={(record) => queue.unmark([idOf(record)])}
                    />
                  )}
                  {open?.kind === 'group' && (
                    <GroupDetail
                      key={open.id}
                      group={open.group}
                      by={queue.group ?? 'source'}
                      members={queue.members}
                      {...{ decided, mayDecide }}
                      decide={decideSeveral}
                    />
                  )}
                </section>
              </div>
            )
          }
        </Answer>
      </Page>
      <div role="status" className="visually-hidden">
        {announced}
      </div>
      {made && <Toast made={made} undo={undo} close={() => setMade(null)} />}
      {several && (
        <Bulk
          {...several}
          approvalDays={approvalDays}
          close={() => setSeveral(null)}
          onDone={(records, failed, now) => {
            onSeveral(records, failed, now)
            setSelection({ ids: failed, anchor: null })
          }}
        />
      )}
      <Help opened={help} close={() => setHelp(false)} />
    </div>
  )
}

function QueueFilters({ filters }: Pick<QueueState, 'filters'>) {
  const codenames = useCodenames()
  return (
    <Filters>
      <TextFilter name="q" label="Package or advisory" value={filters.q} />
      <ChoiceFilter name="severity" label="Severity" value={filters.severity} choices={SEVERITIES} />
      <ChoiceFilter name="distribution" label="Distribution" value={filters.distribution} choices={codenames} />
      <ChoiceFilter name="reason" label="Held because" value={filters.reason} choices={REASONS} />
      <FlagFilter name="kev" label="Known exploited" value={filters.kev} />
      <FlagFilter name="fix" label="Has a fix" value={filters.fix} />
    </Filters>
  )
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  return (
    <Empty title={isFiltered ? 'Nothing in the queue matches' : 'Nothing waits for a decision'}>
      {isFiltered ? <Link to="/review">Show all</Link> : 'Packages that the policy holds appear here.'}
    </Empty>
  )
}

/** The actions on the open record, by key and by name. */
function useShortcuts(
  { open }: QueueState,
  { mayDecide, decide }: { mayDecide: boolean; decide: (action: Action) => void },
): Record<string, () => void> {
  const navigate = useNavigate()
  const record = open?.kind === 'record' ? open.record : null
  const openPackage = () =>
    record &&
    void navigate({ to: '/packages/$name', params: { name: record.name }, search: { version: record.version } })
  const what = record && `${record.name} ${record.version}`
  const deciding = [
    { label: `Approve ${what}`, keys: 'a', run: () => decide('accept_risk') },
    { label: `Reject ${what}`, keys: 'r', run: () => decide('reject') },
    { label: `Require an upgrade of ${what}`, keys: 'u', run: () => decide('upgrade_required') },
  ]
  const opening = { label: `Open the package ${what}`, keys: 'o', run: () => void openPackage() }
  useActions(what ? [...(mayDecide ? deciding : []), opening] : [])
  return Object.fromEntries([...deciding, opening].map(({ keys, run }) => [keys, run]))
}

/** Loads the next and the previous record before somebody opens them. */
function useNeighbours({ rows, at }: QueueState): void {
  const queries = useQueryClient()
  useEffect(() => {
    for (const row of [rows[at + 1], rows[at - 1]])
      if (row?.kind === 'record') queries.query(evidenceOf(row.item)).catch(() => undefined)
  }, [at, rows, queries])
  useEffect(() => clearNews(QUEUE), [])
}
