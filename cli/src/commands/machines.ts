// machine list, create, change, renew, revoke, enrol; enrolment create, list, revoke.
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, idOf, listed, must, PAGES, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need, usage } from '../failure.ts'
import { printPages, printRows, type List } from '../listing.ts'
import { once } from '../once.ts'
import { printToken } from '../print-token.ts'
import { confirm } from '../prompt.ts'
import { spanMs } from '../spans.ts'
import { plain } from '../terminal.ts'

type Page = AnswerOf<'GET /machines'>

const MACHINES: List<Page, Page['items'][number]> = {
  rows: ({ items }) => items,
  head: ['ID', 'NAME', 'TAGS', 'ENDS WITH', 'BY', 'LAST SEEN'],
  cells: (one) => [
    ...[one.id, one.name, one.tags.join(', '), `…${one.token_hint}`, one.created_by, one.last_seen ?? 'never'],
  ],
  none: () => 'there are no such machines',
}

async function list(context: Context, given: Given) {
  const client = await context.client()
  const query = {
    tag: given.text('tag'),
    q: given.text('PART'),
    state: given.is('revoked') ? ('revoked' as const) : ('live' as const),
  }
  return printPages(context, given, MACHINES, async (page) =>
    need(await client.call('GET /machines', { query: { ...query, ...page }, signal: context.signal })),
  )
}

async function create(context: Context, given: Given) {
  const client = await context.client()
  const body = { name: must(given, 'NAME'), tags: listed(given, 'tag'), certificate: given.text('certificate') }
  const made = need(await client.call('POST /machines', { body, headers: once(), signal: context.signal }))
  return printToken(context, made, `machine ${plain(made.name)}`)
}

async function change(context: Context, given: Given) {
  const client = await context.client()
  const body = {
    tags: given.is('no-tags') ? [] : listed(given, 'tag'),
    name: given.text('name'),
    certificate: given.text('certificate'),
  }
  const params = { id: idOf(given) }
  const answer = need(await client.call('PATCH /machines/{id}', { params, body, signal: context.signal }))
  if (context.json) context.terminal.document(answer)
  else context.terminal.print(`machine ${plain(answer.name)}: ${answer.tags.map(plain).join(', ') || 'no tags'}`)
  return EXITS.done
}

async function renew(context: Context, given: Given) {
  const client = await context.client()
  const params = { id: idOf(given) }
  const made = need(await client.call('POST /machines/{id}/token', { params, headers: once(), signal: context.signal }))
  return printToken(context, made, `a new token for machine ${plain(made.name)}`)
}

async function revoke(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const id = idOf(given)
  if (!given.is('yes') && !(await confirm(terminal, `revoke machine ${id}? Its token ends.`, '--yes')))
    throw failed('nothing was revoked')
  const answer = need(await client.call('DELETE /machines/{id}', { params: { id }, signal }))
  if (context.json) terminal.document(answer)
  else terminal.print(`revoked machine ${answer.id}`)
  return EXITS.done
}

/** Works without a sign-in: the token of the enrolment is in the environment, where no list of processes shows it. */
async function enrol(context: Context, given: Given) {
  const token = context.env['GATEHOUSE_ENROLMENT']
  if (!token) throw failed('GATEHOUSE_ENROLMENT must be the token of an enrolment')
  const { url } = await context.access.target()
  if (url === null) throw usage('no service is named: give --url, or set GATEHOUSE_URL')
  const client = await context.access.anonymous(url)
  const body = { token, name: must(given, 'NAME') }
  const made = need(await client.call('POST /machines/enrol', { body, signal: context.signal }))
  return printToken(context, made, `enrolled ${plain(made.name)}`)
}

async function createEnrolment(context: Context, given: Given) {
  const client = await context.client()
  const body = {
    name: must(given, 'NAME'),
    tags: listed(given, 'tag'),
    most: given.number('most', 1, 100_000) ?? 1,
    expires_hours: Math.ceil(spanMs(given.text('expires') ?? '24h', 'expires') / 3_600_000),
  }
  const made = need(await client.call('POST /machines/enrolments', { body, headers: once(), signal: context.signal }))
  const machines = made.most === 1 ? 'one machine' : `${made.most} machines`
  return printToken(context, made, `enrolment ${plain(made.name)} of ${machines} until ${made.expires_at}`)
}

async function enrolments(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /machines/enrolments', { signal: context.signal }))
  return printRows(context, answer, {
    rows: (one) => one.enrolments,
    head: ['ID', 'NAME', 'TAGS', 'USED', 'UNTIL', 'WORKS'],
    cells: (one) => [
      ...[one.id, one.name, one.tags.join(', '), `${one.used} of ${one.most}`, one.expires_at],
      one.active ? 'yes' : 'no',
    ],
    none: () => 'there are no enrolments',
  })
}

async function revokeEnrolment(context: Context, given: Given) {
  const client = await context.client()
  const params = { id: idOf(given) }
  const answer = need(await client.call('DELETE /machines/enrolments/{id}', { params, signal: context.signal }))
  if (context.json) context.terminal.document(answer)
  else context.terminal.print(`revoked enrolment ${answer.id}; its machines stay`)
  return EXITS.done
}

const ID = { name: 'ID', summary: 'as the list shows it' }
const NAME = { name: 'NAME', summary: 'letters, digits and . _ -' }
const TAG = { name: 'tag', value: 'TAG', many: true, summary: 'a tag; several with several flags' }
const CERTIFICATE = { name: 'certificate', value: 'TEXT', summary: 'subject or fingerprint of its client certificate' }

export const machineCommands: readonly Command[] = [
  {
    name: 'machine list',
    summary: 'Machines that sign in to read packages',
    arguments: [{ name: 'PART', summary: 'part of the name', optional: true }],
    flags: [
      { name: 'tag', value: 'TAG', summary: 'only with this tag' },
      { name: 'revoked', summary: 'revoked ones instead' },
      ...PAGES,
    ],
    run: list,
  },
  {
    name: 'machine create',
    summary: 'Create a machine and print its token, once',
    arguments: [NAME],
    flags: [TAG, CERTIFICATE],
    examples: [['a web server', 'machine create web-01 --tag web']],
    run: create,
  },
  {
    name: 'machine change',
    summary: 'Change name, tags or certificate of a machine',
    arguments: [ID],
    flags: [
      TAG,
      { name: 'no-tags', summary: 'take all tags away' },
      { name: 'name', value: 'NAME', summary: 'a new name' },
      CERTIFICATE,
    ],
    run: change,
  },
  { name: 'machine renew', summary: 'Print a new token for a machine; the old one ends', arguments: [ID], run: renew },
  { name: 'machine revoke', summary: 'End the token of a machine', arguments: [ID], flags: [FLAGS.yes], run: revoke },
  {
    name: 'machine enrol',
    summary: 'Enrol a machine with the token of an enrolment, and print the token of the machine, once',
    details:
      'The token of the enrolment is taken from GATEHOUSE_ENROLMENT. Repositories know the new token within ten seconds.',
    arguments: [NAME],
    run: enrol,
  },
  {
    name: 'enrolment create',
    summary: 'Print a token that only enrols machines, once',
    arguments: [NAME],
    flags: [
      TAG,
      { name: 'most', value: 'N', summary: 'machines that it may enrol (default 1)' },
      { name: 'expires', value: 'TIME', summary: 'until then, such as 7d (default 24h)' },
    ],
    examples: [['for the image of twenty web servers', 'enrolment create web-image --tag web --most 20 --expires 7d']],
    run: createEnrolment,
  },
  { name: 'enrolment list', summary: 'Tokens that enrol machines, without their secrets', run: enrolments },
  { name: 'enrolment revoke', summary: 'End an enrolment; its machines stay', arguments: [ID], run: revokeEnrolment },
]
