// decision list, show, withdraw, extend.
import type { AnswerOf, Client } from 'gatehouse-client'
import { FLAGS, idOf, must, PAGES, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need, usage } from '../failure.ts'
import { printPages, type List } from '../listing.ts'
import { namedPackage } from '../named-package.ts'
import { spanDays } from '../spans.ts'
import { plain } from '../terminal.ts'

type Page = AnswerOf<'GET /security/decisions'>
type Decision = Page['decisions'][number]

const ACTIONS = ['accept_risk', 'exception', 'reject', 'upgrade_required'] as const

const DECISIONS: List<Page, Decision> = {
  rows: ({ decisions }) => decisions,
  head: ['ID', 'PACKAGE', 'VERSION', 'ARCH', 'DISTRIBUTION', 'ACTION', 'ACTIVE', 'UNTIL', 'BY', 'AT', 'REASON'],
  cells: (one) => [
    ...[one.id, one.package, one.version, one.arch, one.distribution, one.action, one.active ? 'yes' : 'no'],
    ...[one.expires_at ?? '-', one.decided_by, one.decided_at, one.justification],
  ],
  none: () => 'nothing was decided',
}

async function list(context: Context, given: Given) {
  const client = await context.client()
  const about = given.text('package') === undefined ? null : namedPackage(given)
  const query = {
    ...{ package: about?.name, version: about?.version, distribution: given.text('distribution') },
    action: given.text('action') as (typeof ACTIONS)[number] | undefined,
    active: given.is('active') ? true : undefined,
    assigned_to: given.text('assigned-to'),
  }
  return printPages(context, given, DECISIONS, async (page) =>
    need(await client.call('GET /security/decisions', { query: { ...query, ...page }, signal: context.signal })),
  )
}

async function find(client: Client, id: number, signal: AbortSignal): Promise<Decision> {
  return need(await client.call('GET /security/decisions/{id}', { params: { id }, signal }))
}

async function show(context: Context, given: Given) {
  const { terminal } = context
  const one = await find(await context.client(), idOf(given), context.signal)
  if (context.json) {
    terminal.document(one)
    return EXITS.done
  }
  const what = `${plain(one.package)} ${plain(one.version)} (${plain(one.arch)}) in ${plain(one.distribution)}`
  terminal.print(
    `${one.action} by ${plain(one.decided_by)}, ${one.decided_at}${one.active ? '' : ', not in force any more'}`,
  )
  terminal.print(`about ${what}`)
  terminal.print(`sha256 ${one.sha256}`)
  terminal.print(`reason: ${plain(one.justification)}`)
  terminal.print(`until ${one.expires_at ?? 'it is withdrawn'}`)
  if (one.cve_ids.length > 0) terminal.print(`findings: ${one.cve_ids.map(plain).join(', ')}`)
  if (one.assigned_to) terminal.print(`assigned to ${plain(one.assigned_to)}`)
  return EXITS.done
}

async function withdraw(context: Context, given: Given) {
  const client = await context.client()
  const note = given.text('note')
  const answer = need(
    await client.call('DELETE /security/decisions/{id}', {
      params: { id: idOf(given) },
      ...(note === undefined ? {} : { body: { note } }),
      signal: context.signal,
    }),
  )
  return print(context, answer, 'withdrawn')
}

async function extend(context: Context, given: Given) {
  const client = await context.client()
  const { signal } = context
  const days = spanDays(must(given, 'expires'), 'expires')
  const before = await find(client, idOf(given), signal)
  if (before.action !== 'exception') throw usage(`decision ${before.id} is ${before.action}; only an exception ends`)
  const answer = need(
    await client.call('PUT /security/decisions/{id}', {
      params: { id: before.id },
      body: {
        ...{ action: 'exception', expires_in_days: days, cve_ids: before.cve_ids },
        justification: given.text('reason') ?? before.justification,
      },
      signal,
    }),
  )
  return print(context, answer, `extended until ${answer.decision.expires_at ?? '-'}`)
}

function print({ terminal, json }: Context, answer: { decision: Decision }, done: string) {
  const { id, package: name, version, distribution } = answer.decision
  if (json) terminal.document(answer)
  else terminal.print(`${plain(name)} ${plain(version)} in ${plain(distribution)}: decision ${id}, ${done}`)
  return EXITS.done
}

const ID = { name: 'ID', summary: 'number of the decision, as `decision list` shows it' }

export const decisionCommands: readonly Command[] = [
  {
    name: 'decision list',
    summary: 'What was decided, newest first',
    flags: [
      { name: 'package', value: 'PKG[@VERSION]', summary: 'about this package, or this version of it' },
      FLAGS.distribution,
      { name: 'action', value: 'ACTION', choices: ACTIONS, summary: 'only such decisions' },
      { name: 'active', summary: 'only those in force' },
      { name: 'assigned-to', value: 'NAME', summary: 'only those that this person has to act on' },
      ...PAGES,
    ],
    run: list,
  },
  { name: 'decision show', summary: 'One decision', arguments: [ID], run: show },
  {
    name: 'decision withdraw',
    summary: 'End a decision: what it approved returns to review, and stays served',
    arguments: [ID],
    flags: [{ name: 'note', value: 'TEXT', summary: 'why, for those who ask later' }],
    run: withdraw,
  },
  {
    name: 'decision extend',
    summary: 'Let an exception end later, counted from now',
    details: 'It is replaced by a new decision with a number of its own.',
    arguments: [ID],
    flags: [
      { name: 'expires', value: 'TIME', required: true, summary: 'when it ends, such as 30d' },
      { name: 'reason', value: 'TEXT', summary: 'why; by default the reason it has' },
    ],
    run: extend,
  },
]
