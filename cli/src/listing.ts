// Prints lists. Those in pages: one page, or with --all each page as it arrives.
import type { Context, Given } from './command.ts'
import { EXITS, type Exit } from './exits.ts'
import { usage } from './failure.ts'
import type { Cell } from './terminal.ts'

export interface List<Answer, Row> {
  rows(answer: Answer): readonly Row[]
  head: readonly string[]
  cells(row: Row): readonly Cell[]
  /** what is said when there is none */
  none?: (answer: Answer) => string
}

interface Counted {
  total: number
  /** there are more than `total` */
  total_capped?: boolean
}

export interface Paged extends Counted {
  pages: number
}

export interface PageQuery {
  page: number | undefined
  per_page: number | undefined
}

/** The largest page that every list has. */
const MOST = 200

/** A list that comes in pages. The flags are PAGES. */
export async function printPages<Answer extends Paged, Row>(
  context: Context,
  given: Given,
  list: List<Answer, Row>,
  read: (query: PageQuery) => Promise<Answer>,
): Promise<Exit> {
  const query = { page: given.number('page', 1, 10_000_000), per_page: given.number('limit', 1, MOST) }
  if (!given.is('all')) return printRows(context, await read(query), list, '; --all prints every one')
  if (query.page !== undefined || query.per_page !== undefined) throw usage('--all goes without --page and --limit')
  const { terminal, json } = context
  const write = json ? (rows: readonly Row[]) => rows.forEach((row) => terminal.row(row)) : writer(context, list)
  let printed = 0
  for (let page = 1; ; page++) {
    const answer = await read({ page, per_page: MOST })
    const rows = list.rows(answer)
    write(rows)
    printed += rows.length
    if (rows.length === MOST || page < answer.pages) continue
    if (printed === 0 && list.none) terminal.note(list.none(answer))
    if (printed !== answer.total && !answer.total_capped)
      terminal.complain(
        `warning: the list changed while it was read: ${printed} rows were printed, and there are ${answer.total} now`,
      )
    return EXITS.done
  }
}

/** A list that comes in one answer. @param more what shows the others, when there are more than the answer has */
export function printRows<Answer extends Counted, Row>(
  context: Context,
  answer: Answer,
  list: List<Answer, Row>,
  more = '',
): Exit {
  const { terminal, json, fields } = context
  const rows = list.rows(answer)
  if (fields) for (const row of rows) terminal.row(row)
  else if (json) terminal.document(answer)
  else writer(context, list)(rows)
  if (rows.length === 0 && list.none) terminal.note(list.none(answer))
  // Also with --quiet and --json: a script must not take the first page for everything.
  if (answer.total > rows.length)
    terminal.complain(`warning: ${rows.length} of ${answer.total}${answer.total_capped ? ' or more' : ''}${more}`)
  return EXITS.done
}

function writer<Row>({ terminal }: Context, { head, cells }: Pick<List<never, Row>, 'head' | 'cells'>) {
  const write = terminal.columns(head)
  return (rows: readonly Row[]) => write(rows.map(cells))
}
