// `-` instead of an argument that may be given many times: one on each line of standard input.
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Command } from './command.ts'
import { usage } from './failure.ts'

/** Puts the lines in place of each `-`. @throws Failure when there are none: a list that was empty by fault must not pass */
export async function readArguments(
  { arguments: declared = [] }: Command,
  values: Record<string, unknown>,
  input: Readable,
): Promise<void> {
  for (const { name, many } of declared) {
    const given = values[name]
    if (!many || !Array.isArray(given) || !given.includes('-')) continue
    const lines: string[] = []
    for await (const line of createInterface({ input, crlfDelay: Infinity })) if (line.trim()) lines.push(line.trim())
    if (lines.length === 0) throw usage(`standard input has no ${name}`)
    values[name] = (given as string[]).flatMap((one) => (one === '-' ? lines : [one]))
  }
}

/** Without its line end; empty when there is none. */
export async function firstLine(input: Readable): Promise<string> {
  for await (const line of createInterface({ input, crlfDelay: Infinity })) return line
  return ''
}
