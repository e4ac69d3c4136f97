// What follows a decision on the review page: the row is marked, the next one opens and gets the focus, and the note offers to undo it.
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { clearNews, ownDecisions } from '../../api/live.ts'
import type { Chosen } from './bulk.tsx'
import { QUEUE, type Action } from './item.ts'
import type { Made } from './made.ts'
import { idOf, type RecordId } from './record-id.ts'
import type { JustMade } from './toast.tsx'
import type { QueueState } from './use-queue.ts'
import { focusNext } from './use-announced.ts'

export function useDecisions(queue: QueueState) {
  const { list, rows, open, at, decided, mark, unmark, show } = queue
  const queries = useQueryClient()
  const [action, setAction] = useState<Action | null>(null)
  const [made, setMade] = useState<JustMade | null>(null)

  const reload = () => {
    clearNews(QUEUE)
    // Decided rows stay marked until the new rows have arrived.
    const known = decided
    void Promise.all([list.refetch(), queries.invalidateQueries({ queryKey: [QUEUE] })]).then(() => unmark(known))
  }
  const openNext = (gone: readonly string[]) => {
    const isOpen = ({ id }: { id: string }) => !decided.has(id) && !gone.includes(id)
    const next = rows.slice(at + 1).find(isOpen) ?? rows.find(isOpen)
    focusNext()
    show(next?.id)
    // No record is left under the cursor: loads the rest of the queue.
    if (!next) reload()
    void queries.invalidateQueries({ queryKey: ['GET /dashboard/summary'] })
  }
  const note = (now: Made, ids: string[]) => {
    setMade({ ...now, rows: ids })
    mark(ids)
  }

  /** From here on the address names the open record, so that a new first row does not replace it. */
  const openForm = useCallback(
    (one: Action | null) => {
      if (one && open) show(open.id)
      setAction(one)
    },
    [open?.id, show],
  )
  const onDecided = (records: RecordId[], now: Made) => {
    const ids = records.map(idOf)
    ownDecisions.decided(ids.length)
    note(now, ids)
    setAction(null)
    openNext(ids)
  }
  const onSeveral = (records: readonly Chosen[], failed: ReadonlySet<string>, now: Made) => {
    const ids = records.map(idOf).filter((id) => !failed.has(id))
    if (ids.length === 0) return
    ownDecisions.decided(ids.length)
    // A group is decided with the last of its packages.
    const here = new Set(ids)
    const members = queue.members.data?.items.map(idOf) ?? []
    const isWhole = members.every((id) => here.has(id) || decided.has(id))
    const group = open?.kind === 'group' && isWhole ? [open.id] : []
    const gone = [...group, ...ids]
    note(now, gone)
    if (open && gone.includes(open.id)) openNext(gone)
  }
  const onSettled = (record: RecordId) => {
    const id = idOf(record)
    if (!rows.some((row) => row.id === id)) return
    show(id)
    mark([id])
  }
  return { action, setAction, openForm, made, setMade, onDecided, onSeveral, onSettled, reload }
}
