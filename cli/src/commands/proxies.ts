// repo withheld, request, claims: what proxies hold, and names that they never ask their upstreams for.
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, PAGES, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need } from '../failure.ts'
import { printPages, printRows, type List } from '../listing.ts'
import { namedVersion, ONE_VERSION } from '../named-package.ts'
import { once } from '../once.ts'
import { confirm } from '../prompt.ts'
import { plain } from '../terminal.ts'
import { REPOSITORY, repositoryOf } from './repositories.ts'

type Page = AnswerOf<'GET /registries/{format}/{name}/withheld'>

const WITHHELD: List<Page, Page['items'][number]> = {
  rows: ({ items }) => items,
  head: ['NAME', 'VERSION', 'STATUS', 'UNTIL', 'ASKED', 'BY', 'AT', 'WHY'],
  cells: (one) => [
    ...[one.name, one.version, one.status ?? 'not looked at', one.until ?? '-', one.asked, one.asked_by, one.asked_at],
    one.reasons.map(({ text }) => text).join('; '),
  ],
  none: () => 'nothing that was asked for is held',
}

async function withheld(context: Context, given: Given) {
  const client = await context.client()
  const params = repositoryOf(given)
  return printPages(context, given, WITHHELD, async (query) =>
    need(await client.call('GET /registries/{format}/{name}/withheld', { params, query, signal: context.signal })),
  )
}

async function request(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const params = repositoryOf(given)
  const body = namedVersion(given)
  const answer = need(await client.call('POST /registries/{format}/{name}/requests', { params, body, signal }))
  if (context.json) terminal.document(answer)
  else terminal.print(`${plain(answer.name)} ${plain(answer.version)} is here: ${answer.files.map(plain).join(', ')}`)
  return EXITS.done
}

async function claims(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const params = repositoryOf(given)
  for (const pattern of given.list('add'))
    need(
      await client.call('POST /registries/{format}/{name}/claims', {
        ...{ params, body: { pattern }, headers: once(), signal },
      }),
    )
  const removed = given.list('remove')
  const question = `give up ${removed.join(', ')}? Proxies ask their upstreams for these names then.`
  if (removed.length > 0 && !given.is('yes') && !(await confirm(terminal, question, '--yes')))
    throw failed('nothing was removed')
  for (const pattern of removed)
    need(await client.call('DELETE /registries/{format}/{name}/claims', { params, query: { pattern }, signal }))
  const answer = need(await client.call('GET /registries/{format}/{name}/claims', { params, signal }))
  return printRows(context, answer, {
    rows: (one) => one.claims,
    head: ['NAMES', 'BY', 'SINCE'],
    cells: (one) => [one.pattern, one.created_by, one.created_at],
    none: () => 'no names are claimed',
  })
}

export const proxyCommands: readonly Command[] = [
  {
    name: 'repo withheld',
    summary: 'Versions that clients asked a proxy for and that its rules hold',
    arguments: [REPOSITORY],
    flags: PAGES,
    run: withheld,
  },
  {
    name: 'repo request',
    summary: 'Ask for a version that a proxy holds: it is fetched and judged, and waits for a review',
    arguments: [REPOSITORY, ...ONE_VERSION],
    examples: [['a version that is too young', 'repo request npm/world left-pad@1.3.0']],
    run: request,
  },
  {
    name: 'repo claims',
    summary: 'Names of a hosted repository that no proxy asks its upstream for: list, add, remove',
    arguments: [REPOSITORY],
    flags: [
      { name: 'add', value: 'NAMES', many: true, summary: 'claim a name, or the beginning of names with * behind it' },
      { name: 'remove', value: 'NAMES', many: true, summary: 'give a claim up' },
      FLAGS.yes,
    ],
    examples: [['the scope of a team', "repo claims npm/team --add '@acme/*'"]],
    run: claims,
  },
]
