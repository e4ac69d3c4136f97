// A decision that was just made, as the note about it says. Pure.
import type { Answered } from '../../api/api.ts'
import { problemOf } from '../../api/problem.ts'
import { count } from '../../parts/words.ts'
import type { Parted } from './in-parts.ts'
import type { Action } from './item.ts'
import { idOf } from './record-id.ts'

export interface Made {
  /** ids of the decisions */
  ids: number[]
  action: Action
  /** "krb5-libs 1.21", or "28 packages" */
  what: string
  /** the distributions of its records */
  where: string[]
  /** when the last of it was answered, as `Date.now()` */
  at: number
  /** from the click until the answer, after which clients see it */
  seconds: number
}

/** How long the note offers to undo it. The service takes it for ten minutes, because thousands of decisions take some. */
export const UNDO_MS = 60_000

const DONE: Record<Action, string> = {
  accept_risk: 'Approved',
  exception: 'Approved',
  reject: 'Rejected',
  upgrade_required: 'Upgrade required for',
}

/** @returns "Approved krb5-libs 1.21. Published in almalinux9 after 0.6 s." */
export function told({ action, what, where, seconds }: Made): string {
  const places = [...new Set(where)].join(', ')
  const published =
    action === 'accept_risk' || action === 'exception' ? ` Published in ${places} after ${seconds.toFixed(1)} s.` : ''
  return `${DONE[action]} ${what}.${published}`
}

export interface UndoneItem {
  result: 'undone' | 'failed'
  detail: string | null
  served: boolean | null
  downloads: { clients: number } | null
  /** the id of its row; null for a decision without an answer */
  row: string | null
}

/** The results for each of these decisions, over all parts in which they were sent. */
export function undoneItems(
  { answers, failure }: Parted<Pick<Answered<'POST /security/decisions/undo'>, 'items'>>,
  ids: readonly number[],
): UndoneItem[] {
  const told = answers.flatMap(({ items }) =>
    items.map(({ result, detail, served, downloads, package: name, version, arch, distribution }) => ({
      ...{ result, detail, served, downloads },
      row: name && version && arch && distribution ? idOf({ name, version, arch, distribution }) : null,
    })),
  )
  const lost = {
    result: 'failed' as const,
    detail: problemOf(failure).detail,
    served: null,
    downloads: null,
    row: null,
  }
  return [...told, ...ids.slice(told.length).map(() => lost)]
}

/** Which of these rows wait again: all of them, or those of the decisions that were undone. */
export function waitAgain(rows: readonly string[], items: readonly UndoneItem[]): string[] {
  if (items.every(({ result }) => result === 'undone')) return [...rows]
  const undone = new Set(items.flatMap(({ result, row }) => (result === 'undone' ? (row ?? []) : [])))
  return rows.filter((row) => undone.has(row))
}

/** What an attempt to undo came to, with who fetched the packages meanwhile as far as that is known. */
export function toldUndone(what: string, items: readonly UndoneItem[]): string {
  const undone = items.filter(({ result }) => result === 'undone')
  const failed = items.filter(({ result }) => result === 'failed')
  const why =
    failed.length === 0
      ? ''
      : ` ${failed.length === items.length ? 'Not undone' : `${count(failed.length, 'package')} not undone`}: ${failed[0]?.detail ?? ''}.`
  if (undone.length === 0) return why.trim()
  // Clients that were offered a package before did not get it by this decision.
  const clients = undone
    .filter(({ served }) => served === false)
    .reduce((sum, { downloads }) => sum + (downloads?.clients ?? 0), 0)
  const fetched =
    clients === 0
      ? 'No download is known so far.'
      : `${count(clients, 'client has', 'clients have')} fetched it meanwhile and ${clients === 1 ? 'keeps' : 'keep'} it.`
  return `Undone: ${undone.length === items.length ? what : count(undone.length, 'package')} ${undone.length === 1 ? 'waits' : 'wait'} again. ${fetched}${why}`
}
