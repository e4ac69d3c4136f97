// repo list, show, create, set, delete.
import { FLAGS, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need, usage } from '../failure.ts'
import { printRows } from '../listing.ts'
import { once } from '../once.ts'
import { confirm } from '../prompt.ts'
import { plain } from '../terminal.ts'

/** A repository by its key: `npm/team`. */
function keyOf(given: Given) {
  const [format, name, ...more] = must(given, 'REPOSITORY').split('/')
  if (!format || !name || more.length > 0) throw usage('a repository is named by its ecosystem and name: npm/team')
  return { format: format as 'npm', name }
}

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /registries', { signal: context.signal }))
  return printRows(context, answer, {
    rows: ({ repositories }) => repositories,
    head: ['REPOSITORY', 'KIND', 'PACKAGES', 'READERS', 'DESCRIPTION'],
    cells: (one) => [one.key, one.kind, one.packages, one.public ? 'everybody' : 'with a token', one.description],
    none: () => 'there are no repositories',
  })
}

async function show(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const found = need(await client.call('GET /registries/{format}/{name}', { params: keyOf(given), signal }))
  if (context.json) {
    terminal.document(found)
    return EXITS.done
  }
  const members = found.members.length > 0 ? `, of ${found.members.join(', ')}` : ''
  terminal.print(`${found.key}: ${found.kind}${members}, ${found.packages} packages, ${found.url}`)
  for (const { client: program, into, text } of found.setup) terminal.print(`\n# ${program} (${into})\n${plain(text)}`)
  return EXITS.done
}

async function create(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const members = given.list('member')
  const body = {
    ...keyOf(given),
    kind: members.length > 0 ? ('group' as const) : ('hosted' as const),
    ...(members.length > 0 ? { members } : {}),
    description: given.text('description'),
    public: given.is('public'),
  }
  const made = need(await client.call('POST /registries', { body, headers: once(), signal }))
  if (context.json) terminal.document(made)
  else terminal.print(`made ${made.key}: ${made.url}`)
  return EXITS.done
}

async function set(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  if (given.is('public') && given.is('private')) throw usage('give --public or --private')
  const members = given.list('member')
  const body = {
    ...(given.is('public') ? { public: true } : given.is('private') ? { public: false } : {}),
    ...(members.length > 0 ? { members } : {}),
    description: given.text('description'),
  }
  const changed = need(await client.call('PATCH /registries/{format}/{name}', { params: keyOf(given), body, signal }))
  if (context.json) terminal.document(changed)
  else terminal.print(`changed ${changed.key}`)
  return EXITS.done
}

async function remove(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const params = keyOf(given)
  if (!given.is('yes') && !(await confirm(terminal, `delete ${params.format}/${params.name}?`, '--yes')))
    throw failed('nothing was deleted')
  const answer = need(await client.call('DELETE /registries/{format}/{name}', { params, signal }))
  if (context.json) terminal.document(answer)
  else terminal.print(`deleted ${answer.key}`)
  return EXITS.done
}

const REPOSITORY = { name: 'REPOSITORY', summary: 'ecosystem and name: npm/team, pypi/team' }
const SETTINGS = [
  { name: 'description', value: 'TEXT', summary: 'what it is for' },
  { name: 'public', summary: 'everybody may read it, without a token' },
  { name: 'member', value: 'NAME', many: true, summary: 'of a group: a repository of its ecosystem, in their order' },
]

export const repositoryCommands: readonly Command[] = [
  { name: 'repo list', summary: 'Repositories of libraries (npm, PyPI)', run: list },
  { name: 'repo show', summary: 'One repository, and how its clients are set up', arguments: [REPOSITORY], run: show },
  {
    name: 'repo create',
    summary: 'Make a repository: hosted, or with --member a group',
    arguments: [REPOSITORY],
    flags: SETTINGS,
    examples: [
      ['keep libraries of our own', 'repo create npm/team'],
      ['show two repositories under one address', 'repo create npm/all --member team --member vendor'],
    ],
    run: create,
  },
  {
    name: 'repo set',
    summary: 'Change a repository; what is left out stays as it is',
    arguments: [REPOSITORY],
    flags: [...SETTINGS, { name: 'private', summary: 'only with a token' }],
    run: set,
  },
  {
    name: 'repo delete',
    summary: 'Delete a repository without packages',
    arguments: [REPOSITORY],
    flags: [FLAGS.yes],
    run: remove,
  },
]
