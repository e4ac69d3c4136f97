// Lists as files: every entry that a filter matches, as JSON lines or CSV, as fast as the client reads.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { csvLine } from './csv.ts'

export const EXPORT_MEDIA = ['application/x-ndjson', 'text/csv']
export const ExportAs = Type.Enum(['jsonl', 'csv'], { default: 'jsonl' })
export type ExportAs = 'jsonl' | 'csv'

type Cell = string | number | boolean | null | readonly string[]

/** @param name of the file, without its ending */
export function sendLines(reply: FastifyReply, name: string, as: ExportAs, lines: AsyncIterable<string>): FastifyReply {
  reply.header('content-disposition', `attachment; filename="${name}.${as}"`)
  return reply.type(as === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson').send(Readable.from(lines))
}

/** The lines of pages of entries. CSV has these columns; a list in a cell is separated by spaces. */
export async function* linesOf<R, K extends string>(
  as: ExportAs,
  columns: readonly K[],
  pages: AsyncIterable<readonly R[]>,
  shown: (row: R) => Record<K, Cell>,
): AsyncGenerator<string> {
  if (as === 'csv') yield csvLine(columns)
  const line = (row: Record<K, Cell>) => (as === 'csv' ? cells(row, columns) : jsonLine(row))
  for await (const rows of pages) yield rows.map((row) => line(shown(row))).join('')
}

const jsonLine = (row: object) => `${JSON.stringify(row)}\n`

const cells = <K extends string>(row: Record<K, Cell>, columns: readonly K[]) =>
  csvLine(
    columns.map((column) => {
      const cell: Cell = row[column]
      return typeof cell === 'object' && cell !== null ? cell.join(' ') : cell
    }),
  )

/**
 * Pages until one is not full. Entries that come, go or change their order meanwhile may be missing or, in the last case, appear twice.
 * @param read the first entries after one
 */
export async function* allPages<R>(read: (after: R | null, most: number) => Promise<readonly R[]>) {
  for (let after: R | null = null; ;) {
    const rows: readonly R[] = await read(after, PER_PAGE)
    if (rows.length > 0) yield rows
    if (rows.length < PER_PAGE) return
    after = rows.at(-1) ?? null
  }
}

const PER_PAGE = 1_000
