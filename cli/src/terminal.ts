// Standard output for results, standard error for everything else.
import type { Readable, Writable } from 'node:stream'

export type Cell = string | number | null | undefined

export interface Terminal {
  /** the result, and nothing else */
  print(line: string): void
  /** the result as one JSON document */
  document(value: unknown): void
  /** progress and notes; silent with `--quiet` */
  note(line: string): void
  /** errors and warnings; never silent */
  complain(line: string): void
  /** one row for each item: aligned for people, separated by tabs for programs */
  table(head: readonly string[], rows: readonly (readonly Cell[])[]): void
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

export function createTerminal(
  { stdin, stdout, stderr }: Streams,
  { quiet, env }: { quiet: boolean; env: Readonly<Record<string, string | undefined>> },
): Terminal {
  const errIsTerminal = stderr.isTTY === true
  const outIsTerminal = stdout.isTTY === true
  const colors = errIsTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  const print = (line: string) => void stdout.write(`${line}\n`)
  return {
    print,
    document: (value) => print(JSON.stringify(value, null, 2)),
    note: (line) => (quiet ? undefined : void stderr.write(`${line}\n`)),
    complain: (line) => void stderr.write(`${colors ? `\u001b[31m${line}\u001b[39m` : line}\n`),
    table(head, rows) {
      const cells = rows.map((row) => row.map((cell) => plain(cell === null || cell === undefined ? '' : String(cell))))
      if (!outIsTerminal) {
        for (const row of cells) print(row.join('\t'))
        return
      }
      const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => (row[i] ?? '').length)))
      for (const row of [head, ...cells])
        print(
          row
            .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
            .join('  ')
            .trimEnd(),
        )
    },
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
