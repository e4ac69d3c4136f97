// settings get, set; policy show, set.
import { type Command, type Context, type Given } from '../command.ts'
import { at, bodyOf, flat } from '../assignments.ts'
import { EXITS } from '../exits.ts'
import { need } from '../failure.ts'
import { plain } from '../terminal.ts'

type Document = Record<string, unknown>
type Part = '/settings' | '/security/policy'

async function read({ client, signal }: Context, part: Part): Promise<Document> {
  const response = need(await (await client()).request('GET', part, { signal }))
  return (await response.json()) as Document
}

async function get(context: Context, given: Given, part: Part) {
  const { terminal, json } = context
  const document = await read(context, part)
  const key = given.text('KEY')
  const value = key === undefined ? document : at(document, key)
  if (json) terminal.document(value)
  // A single value is printed alone, so that a script can use it.
  else if (key !== undefined && flat(value).length === 1 && flat(value)[0]?.[0] === '') terminal.print(textOf(value))
  else for (const [name, one] of flat(value, key ?? '')) terminal.print(`${name}\t${textOf(one)}`)
  return EXITS.done
}

const textOf = (value: unknown) => plain(typeof value === 'string' ? value : JSON.stringify(value))

async function set(context: Context, given: Given, part: Part) {
  const { terminal, json, signal } = context
  const named = given.list('KEY=VALUE')
  const body = bodyOf(named, await read(context, part))
  const client = await context.client()
  const response = need(await client.request('PATCH', part, { body, signal }))
  const changed = (await response.json()) as Document
  if (json) terminal.document(changed)
  else
    for (const text of named) {
      const key = text.slice(0, text.indexOf('='))
      terminal.print(`${key}\t${textOf(at(changed, key))}`)
    }
  return EXITS.done
}

const KEY = { name: 'KEY', optional: true, summary: 'one setting, or a part of them, such as email' }
const assignments = (summary: string) => [{ name: 'KEY=VALUE', many: true, summary }]

export const settingCommands: readonly Command[] = [
  {
    name: 'settings get',
    summary: 'The settings of the service; secrets are ***',
    arguments: [KEY],
    examples: [['one of them', 'settings get email.smtp_port']],
    run: (context, given) => get(context, given, '/settings'),
  },
  {
    name: 'settings set',
    summary: 'Change settings; all of those named, or none',
    details: 'A text is written as it is, everything else as JSON.',
    arguments: assignments('as `settings get` shows it, such as email.smtp_port=587'),
    examples: [['where mail leaves', 'settings set email.smtp_host=mail.example.org email.smtp_port=587']],
    run: (context, given) => set(context, given, '/settings'),
  },
  {
    name: 'policy show',
    summary: 'What a finding of each severity does to its package, and the deadlines of reviews',
    run: (context, given) => get(context, given, '/security/policy'),
  },
  {
    name: 'policy set',
    summary: 'Change the policy; all of what is named, or nothing',
    arguments: assignments('as `policy show` shows it, such as high=block'),
    examples: [['stricter', 'policy set high=block sla_critical_days=2']],
    run: (context, given) => set(context, given, '/security/policy'),
  },
]
