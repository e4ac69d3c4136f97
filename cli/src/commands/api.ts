// api: any endpoint, and all pages of a list.
import { readFile } from 'node:fs/promises'
import type { Client } from 'gatehouse-client'
import { must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need, usage } from '../failure.ts'
import { save } from '../save.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

async function api(context: Context, given: Given) {
  const { terminal, signal } = context
  const method = must(given, 'METHOD').toUpperCase()
  if (!METHODS.some((one) => one === method)) throw usage(`the method is one of ${METHODS.join(', ')}, not ${method}`)
  const path = must(given, 'PATH').replace(/^(?!\/)/, '/')
  const fields = Object.fromEntries(given.list('field').map(fieldOf))
  const input = given.text('input')
  if (given.is('paginate')) {
    if (method !== 'GET' || input !== undefined) throw usage('--paginate goes with GET, without --input')
    return paginate(context, await context.client(), path, fields)
  }
  const client = await context.client()
  const body =
    input === undefined ? (Object.keys(fields).length > 0 ? fields : undefined) : await inputOf(input, context)
  const asQuery = method === 'GET' && input === undefined
  const response = need(await client.request(method, path, { signal, ...(asQuery ? { query: fields } : { body }) }))
  const isJson = isJsonAnswer(response)
  if (isJson && (terminal.outIsTerminal || context.fields)) terminal.document(await response.json())
  else {
    await save(response, undefined, terminal.output)
    if (isJson) terminal.print('')
  }
  return EXITS.done
}

const isJsonAnswer = (response: Response) => response.headers.get('content-type')?.includes('json') ?? false

/** Prints each page of a list as one line of JSON, as it arrives. */
async function paginate({ terminal, signal }: Context, client: Client, path: string, fields: Record<string, unknown>) {
  for (let page = 1; ; page++) {
    const response = need(await client.request('GET', path, { signal, query: { ...fields, page } }))
    const answer = isJsonAnswer(response) ? ((await response.json()) as Record<string, unknown> | null) : null
    if (typeof answer?.['pages'] !== 'number' || typeof answer['per_page'] !== 'number')
      throw usage(`${path} has no pages: leave --paginate out`)
    terminal.row(answer)
    const longest = Math.max(...Object.values(answer).map((value) => (Array.isArray(value) ? value.length : 0)))
    // Of a long list the service counts only so far, so `pages` can be too small.
    if (page >= answer['pages'] && longest < answer['per_page']) return EXITS.done
  }
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

export const apiCommands: readonly Command[] = [
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
      { name: 'paginate', summary: 'every page of a list, each as one line of JSON' },
      { name: 'input', value: 'FILE', files: true, summary: 'the body as JSON; - is standard input' },
    ],
    examples: [
      ['counts', 'api GET /dashboard/summary'],
      ['all publications of a distribution', 'api GET /distributions/noble/publications --paginate'],
      ['change a setting', 'api PATCH /settings --input settings.json'],
    ],
    run: api,
  },
]
