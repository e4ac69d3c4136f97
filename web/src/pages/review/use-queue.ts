// What the review page shows: the rows of the queue, and the row that is open. The URL has the choices and the open row.
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouter } from '@tanstack/react-router'
import { useCallback, useMemo, useRef, useState } from 'react'
import { read, readList } from '../../api/api.ts'
import { QUEUE, type QueueGroup, type QueueItem } from './item.ts'
import { readAll } from './read-all.ts'
import { idOf, parseId, type RecordId } from './record-id.ts'
import { groupId, parseGroup, rowsOf } from './rows.ts'

const route = getRouteApi('/review')
/** Members of a group that the list shows below its row. */
const MOST_UNFOLDED = 200

export type Open =
  | { kind: 'record'; id: string; record: RecordId; item: QueueItem | null }
  | { kind: 'group'; id: string; key: string; group: QueueGroup | null }

export function useQueue() {
  const search = route.useSearch()
  const { item, page = 1, size = 50, sort = 'risk' as const, group, ...filters } = search
  const change = route.useNavigate()
  const router = useRouter()
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set())
  const [unfolded, setUnfolded] = useState<string | null>(null)
  // After Back from the only pane, the list is where it was.
  const [last, setLast] = useState<string | undefined>(item)
  const seen = useRef(new Map<string, QueueItem>())

  const chosen = { ...filters, sort, ...(group && { group }) } as const
  const list = useQuery(readList(QUEUE, { query: { ...chosen, page, per_page: size, include_findings: false } }))
  const shown = item ?? last
  const openKey = parseGroup(shown)
  const membersOf = (key: string | null) => ({ ...chosen, ...(key && { member_of: key }) })
  const below = useQuery({
    ...read(QUEUE, { query: { ...membersOf(unfolded), per_page: MOST_UNFOLDED, include_findings: false } }),
    enabled: group !== undefined && unfolded !== null,
  })
  const members = useQuery({
    queryKey: [QUEUE, 'members', membersOf(openKey)],
    queryFn: ({ signal }) => readAll(membersOf(openKey), signal),
    enabled: group !== undefined && openKey !== null,
  })

  const rows = useMemo(
    () => rowsOf(list.data?.items ?? [], group ? (list.data?.groups ?? []) : null, unfolded, below.data?.items ?? []),
    [list.data, group, unfolded, below.data],
  )
  const see = (items: readonly QueueItem[]) => {
    for (const one of items) seen.current.set(idOf(one), one)
  }
  // Thousands of members: only when they change.
  useMemo(() => see(rows.flatMap((row) => (row.kind === 'record' ? row.item : []))), [rows])
  useMemo(() => see(members.data?.items ?? []), [members.data])

  const open = openOf(
    shown,
    rows.find(({ id }) => id === shown) ?? null,
    rows.find(({ id }) => !decided.has(id)) ?? null,
  )
  const at = open ? rows.findIndex(({ id }) => id === open.id) : -1

  /** Another record is opened in its place: Back leads to the list, not through all that were looked at. */
  const show = useCallback(
    (id: string | undefined) => {
      setLast(id)
      void change({
        search: (now) => ({ ...now, item: id }),
        replace: item !== undefined || id === undefined,
        resetScroll: false,
      })
    },
    [change, item !== undefined],
  )
  const address = router.buildLocation({ to: '/review', search: {} }).publicHref
  const hrefOf = (id: string) => address + router.options.stringifySearch({ ...search, item: id })
  const mark = (ids: Iterable<string>) => setDecided((now) => new Set([...now, ...ids]))
  const unmark = (ids: Iterable<string>) => {
    const gone = new Set(ids)
    setDecided((now) => new Set([...now].filter((id) => !gone.has(id))))
  }
  return {
    ...{
      list,
      rows,
      open,
      at,
      members,
      unfolded,
      setUnfolded,
      decided,
      mark,
      unmark,
      show,
      hrefOf,
      filters,
      sort,
      group,
    },
    ...{ page, size, seen: seen.current },
    /** reads all records that match, as far as they can be selected */
    readMatching: async () => {
      const { items } = await readAll({ ...filters, sort })
      see(items)
      return items.filter((one) => !decided.has(idOf(one)))
    },
    /** whether the URL names what is open: below 900 px only that is shown then */
    isNamed: item !== undefined,
    /** leaves the open row; the list stays where it is */
    back: () => void change({ search: (now) => ({ ...now, item: undefined }), resetScroll: false }),
  }
}

export type QueueState = ReturnType<typeof useQueue>
type Row = QueueState['rows'][number]

/** @param named the row with this id; it may be on another page */
function openOf(id: string | undefined, named: Row | null, first: Row | null): Open | null {
  const record = parseId(id)
  const key = parseGroup(id)
  if (record) return { kind: 'record', id: idOf(record), record, item: named?.kind === 'record' ? named.item : null }
  if (key !== null) return { kind: 'group', id: groupId(key), key, group: named?.kind === 'group' ? named.group : null }
  if (first === null) return null
  return first.kind === 'record'
    ? { kind: 'record', id: first.id, record: first.item, item: first.item }
    : { kind: 'group', id: first.id, key: first.group.key, group: first.group }
}
