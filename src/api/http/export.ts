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
export async function* linesOf<K extends string, R extends Record<K, Cell>>(
  as: ExportAs,
  columns: readonly K[],
  pages: AsyncIterable<readonly R[]>,
): AsyncGenerator<string> {
  if (as === 'csv') yield csvLine(columns)
  for await (const rows of pages) yield rows.map((row) => (as === 'csv' ? cells(row, columns) : jsonLine(row))).join('')
}

const jsonLine = (row: object) => `${JSON.stringify(row)}\n`

const cells = <K extends string>(row: Record<K, Cell>, columns: readonly K[]) =>
  csvLine(
    columns.map((column) => {
      const cell: Cell = row[column]
      return typeof cell === 'object' && cell !== null ? cell.join(' ') : cell
    }),
  )

/** Pages from the first until one is not full. Entries that come or go meanwhile may be missing or appear twice. */
export async function* allPages<R>(read: (at: { page: number; perPage: number }) => Promise<readonly R[]>) {
  for (let page = 1; ; page++) {
    const rows = await read({ page, perPage: PER_PAGE })
    if (rows.length > 0) yield rows
    if (rows.length < PER_PAGE) return
  }
}

const PER_PAGE = 1_000
