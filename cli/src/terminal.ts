// Standard output for results, standard error for everything else.
import type { Readable, Writable } from 'node:stream'
import { fieldsOf } from './fields.ts'

export type Cell = string | number | null | undefined

export interface Terminal {
  /** the result, and nothing else */
  print(line: string): void
  /** the result as one JSON document; with `--fields` as one line of these */
  document(value: unknown): void
  /** a row of a list as one line: JSON, or the fields of `--fields` */
  row(value: unknown): void
  /** progress and notes; silent with `--quiet` */
  note(line: string): void
  /** errors and warnings; never silent */
  complain(line: string): void
  /** one row for each item: aligned for people, separated by tabs for programs */
  table(head: readonly string[], rows: readonly (readonly Cell[])[]): void
  /** A table whose rows arrive in several parts: the first part decides how wide the columns are. */
  columns(head: readonly string[]): (rows: readonly (readonly Cell[])[]) => void
  readonly quiet: boolean
  /** whether standard output, or standard error, is a terminal */
  readonly outIsTerminal: boolean
  readonly errIsTerminal: boolean
  /** whether questions can be asked */
  readonly canAsk: boolean
  readonly colors: boolean
  readonly input: Readable
  readonly output: Writable
  readonly errors: Writable & { columns?: number }
}

export interface Streams {
  stdin: Readable & { isTTY?: boolean }
  stdout: Writable & { isTTY?: boolean }
  stderr: Writable & { isTTY?: boolean; columns?: number }
}

/** Text of a server must not move the cursor or change the title: control characters become spaces. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}

export interface TerminalOptions {
  quiet: boolean
  /** what `--fields` selects; null without it */
  fields: readonly string[] | null
  env: Readonly<Record<string, string | undefined>>
}

export function createTerminal({ stdin, stdout, stderr }: Streams, { quiet, fields, env }: TerminalOptions): Terminal {
  const errIsTerminal = stderr.isTTY === true
  const outIsTerminal = stdout.isTTY === true
  const colors = errIsTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  const print = (line: string) => void stdout.write(`${line}\n`)
  // Some fields are optional, so only the first row shows whether a name is misspelt.
  let isFirst = true
  const row = (value: unknown) => {
    print(fields ? fieldsOf(value, fields, isFirst) : JSON.stringify(value))
    isFirst = false
  }
  const columns = outIsTerminal ? aligned(print) : tabbed(print)
  return {
    print,
    document: (value) => (fields ? row(value) : print(JSON.stringify(value, null, 2))),
    row,
    note: (line) => (quiet ? undefined : void stderr.write(`${line}\n`)),
    complain: (line) => void stderr.write(`${colors ? `\u001b[31m${line}\u001b[39m` : line}\n`),
    table: (head, rows) => columns(head)(rows),
    columns,
    quiet,
    outIsTerminal,
    errIsTerminal,
    canAsk: stdin.isTTY === true && errIsTerminal,
    colors,
    input: stdin,
    output: stdout,
    errors: stderr,
  }
}

type Print = (line: string) => void
type Columns = Terminal['columns']

const textOf = (cell: Cell) => plain(cell === null || cell === undefined ? '' : String(cell))

const tabbed =
  (print: Print): Columns =>
  () =>
  (rows) => {
    for (const row of rows) print(row.map(textOf).join('\t'))
  }

const aligned =
  (print: Print): Columns =>
  (head) => {
    let widths: number[] | null = null
    return (rows) => {
      const cells = rows.map((row) => row.map(textOf))
      const printed = widths ? cells : [head, ...cells]
      widths ??= head.map((title, i) => Math.max(title.length, ...cells.map((row) => (row[i] ?? '').length)))
      const padded = (cell: string, i: number) => cell.padEnd(widths?.[i] ?? 0)
      for (const row of printed) print(row.map(padded).join('  ').trimEnd())
    }
  }
