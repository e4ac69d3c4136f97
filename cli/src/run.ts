// Runs one command line: parses it, gives the command its context, and converts every end to an exit code.
import { CommanderError } from 'commander'
import type { Retry } from 'gatehouse-client'
import { createAccess } from './access.ts'
import { givenOf, type Context } from './command.ts'
import { EXITS, type Exit } from './exits.ts'
import { Failure } from './failure.ts'
import { fieldNames } from './fields.ts'
import { readArguments } from './input.ts'
import { parse, type Parsed } from './parser.ts'
import { TABLE } from './table.ts'
import { createTerminal, plain, type Streams } from './terminal.ts'

export interface Surroundings extends Streams {
  env: Readonly<Record<string, string | undefined>>
  version: string
  /** version of Node */
  node: string
  /** aborted when a signal ends the command */
  signal: AbortSignal
}

export async function run(argv: readonly string[], around: Surroundings): Promise<Exit> {
  const { stdout, stderr, version } = around
  let parsed
  try {
    parsed = parse(argv, TABLE, version, {
      out: (text) => void stdout.write(text),
      err: (text) => void stderr.write(text),
    })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // Nothing was parsed, so this looks for the flag in the typed words.
    if (wordsBefore(argv, '--').includes('--json')) {
      const detail = error.message.replace(/^error: /, '')
      stdout.write(`${JSON.stringify({ code: 'usage', detail }, null, 2)}\n`)
    }
    return EXITS.usage
  }
  return parsed ? runParsed(parsed, around) : EXITS.done
}

async function runParsed({ command, values }: Parsed, around: Surroundings): Promise<Exit> {
  const { env, version, node, signal, stdin } = around
  const given = givenOf(values)
  const names = given.text('fields')
  const fields = names !== undefined
  const json = given.is('json') || fields
  const options = { quiet: given.is('quiet'), env }
  let terminal = createTerminal(around, { ...options, fields: null })
  try {
    if (fields) terminal = createTerminal(around, { ...options, fields: fieldNames(names) })
    const onRetry = ({ problem, delayMs }: Retry) => {
      terminal.note(`${plain(problem.detail)}; trying again in ${Math.ceil(delayMs / 1000)} s`)
    }
    const flags = { url: given.text('url'), profile: given.text('profile'), caFile: given.text('ca-file') }
    const access = createAccess({ env, flags, version, signal, onRetry })
    const context: Context = { terminal, json, fields, env, version, node, signal, access, client: access.client }
    await readArguments(command, values, stdin)
    return (await command.run(context, given)) ?? EXITS.done
  } catch (error) {
    if (signal.aborted) {
      terminal.note('interrupted')
      return EXITS.interrupted
    }
    const failure = failureOfThrown(error)
    terminal.complain(`gatehouse ${command.name}: ${plain(failure.detail)}`)
    // Lines of fields are rows, and an error is none.
    if (json && !fields) terminal.document(failure.body)
    return failure.exit
  }
}

function failureOfThrown(error: unknown): Failure {
  if (error instanceof Failure) return error
  // A file that cannot be written, or a connection that was lost while an answer was read.
  const detail = error instanceof Error ? error.message : String(error)
  return new Failure(EXITS.failed, detail, { code: 'failed', detail })
}

function wordsBefore(argv: readonly string[], end: string): readonly string[] {
  const at = argv.indexOf(end)
  return at === -1 ? argv : argv.slice(0, at)
}
