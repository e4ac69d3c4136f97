// What a decision about several records came to, or would come to, over all parts in which it was sent. Pure.
import type { Answered } from '../../api/api.ts'
import { problemOf } from '../../api/problem.ts'
import { PART, type Parted } from './in-parts.ts'

type BulkAnswer = Answered<'POST /security/decisions/bulk'>
export type Outcome = Pick<BulkAnswer['items'][number], 'result' | 'records' | 'decisions' | 'detail'>

export interface Outcomes {
  /** one for each record that was sent, in their order */
  items: Outcome[]
  decided: number
  failed: number
  /** distributions whose clients see a change */
  publishes: string[]
  /** how often these are published, at most */
  parts: number
}

/** @param total how many records there are; those of a part without an answer count as failed */
export function outcomesOf({ answers, failure }: Parted<BulkAnswer>, total: number): Outcomes {
  const told = answers.flatMap(({ items }) => items as Outcome[])
  const missing = total - told.length
  const why = missing === 0 ? '' : problemOf(failure).detail
  const unanswered = Array.from({ length: missing }, (_, i) =>
    failedBy(i < PART ? `${why}; look again whether it is decided` : 'not sent, because the part before it failed'),
  )
  const items = [...told, ...unanswered]
  const failed = items.filter(({ result }) => result === 'failed').length
  return {
    items,
    failed,
    decided: items.length - failed,
    publishes: [...new Set(answers.flatMap(({ publishes }) => publishes))].sort(),
    parts: answers.length,
  }
}

const failedBy = (detail: string): Outcome => ({ result: 'failed', records: [], decisions: [], detail })
