// api, completion, man; and the parts of the table for the build and the documentation.
import { readFile } from 'node:fs/promises'
import { must, type Command, type Context, type Given } from '../command.ts'
import { completionScript, SHELLS, type Shell } from '../completion.ts'
import { EXITS } from '../exits.ts'
import { need, usage } from '../failure.ts'
import { manualPage, reference } from '../manual.ts'
import { save } from '../save.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

async function api(context: Context, given: Given) {
  const client = await context.client()
  const method = must(given, 'METHOD').toUpperCase()
  if (!METHODS.some((one) => one === method)) throw usage(`the method is one of ${METHODS.join(', ')}, not ${method}`)
  const path = must(given, 'PATH')
  const fields = Object.fromEntries(given.list('field').map(fieldOf))
  const input = given.text('input')
  const body =
    input === undefined ? (Object.keys(fields).length > 0 ? fields : undefined) : await inputOf(input, context)
  const asQuery = method === 'GET' && input === undefined
  const call = { signal: context.signal, ...(asQuery ? { query: fields } : { body }) }
  const response = need(await client.request(method, path.startsWith('/') ? path : `/${path}`, call))
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  if (isJson && context.terminal.outIsTerminal) context.terminal.document(await response.json())
  else {
    await save(response, undefined, context.terminal.output)
    if (isJson) context.terminal.print('')
  }
  return EXITS.done
}

/** `key=text`, or `key:=json` for numbers, lists and booleans. */
function fieldOf(text: string): [string, unknown] {
  const [, name, colon, value] = /^([^=:]+)(:?)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw usage(`--field is name=text or name:=json, not ${text}`)
  if (!colon) return [name, value]
  try {
    return [name, JSON.parse(value)]
  } catch {
    throw usage(`--field ${name}:= needs JSON, not ${value}`)
  }
}

async function inputOf(file: string, { terminal }: Context): Promise<unknown> {
  let text = ''
  if (file === '-') for await (const chunk of terminal.input) text += String(chunk)
  else
    text = await readFile(file, 'utf8').catch((error: unknown) =>
      Promise.reject(usage(`--input: ${(error as Error).message}`)),
    )
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw usage('--input is not JSON')
  }
}

/** @param table of all commands, including these */
export const apiCommands = (table: () => readonly Command[]): readonly Command[] => [
  {
    name: 'api',
    summary: 'Call any endpoint of the API, and print its answer',
    arguments: [
      { name: 'METHOD', choices: METHODS, summary: 'such as GET' },
      { name: 'PATH', summary: 'below /api/v1, such as /dashboard/summary; /health and /metrics are at the root' },
    ],
    flags: [
      {
        name: 'field',
        short: 'f',
        value: 'NAME=TEXT',
        many: true,
        summary: 'of the query (GET) or of the body; NAME:=JSON for other than text',
      },
      { name: 'input', value: 'FILE', files: true, summary: 'the body as JSON; - is standard input' },
    ],
    examples: [
      ['counts', 'api GET /dashboard/summary'],
      ['change a setting', 'api PATCH /settings --input settings.json'],
    ],
    run: api,
  },
  {
    name: 'completion',
    summary: 'Print the completion of a shell',
    details:
      'bash: eval "$(gatehouse completion bash)" in ~/.bashrc. zsh: the same with zsh, after compinit, in ~/.zshrc. fish: gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish',
    arguments: [{ name: 'SHELL', choices: SHELLS, summary: 'bash, zsh or fish' }],
    run: async ({ terminal }, given) => {
      terminal.print(completionScript(must(given, 'SHELL') as Shell, table()).trimEnd())
      return EXITS.done
    },
  },
  {
    name: 'man',
    summary: 'Print the manual page',
    examples: [['read it', 'man | man -l -']],
    run: async ({ terminal, version }) => {
      terminal.print(manualPage(table(), version).trimEnd())
      return EXITS.done
    },
  },
  {
    name: 'reference',
    summary: 'Print the reference of docs/cli.md',
    hidden: true,
    run: async ({ terminal }) => {
      terminal.print(reference(table()).trimEnd())
      return EXITS.done
    },
  },
]
