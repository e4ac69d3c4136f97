// repo list, show, create, set, delete.
import { bodyOf, flat } from '../assignments.ts'
import { FLAGS, listed, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need, usage } from '../failure.ts'
import { firstLine } from '../input.ts'
import { printRows } from '../listing.ts'
import { once } from '../once.ts'
import { ask, confirm } from '../prompt.ts'
import { plain } from '../terminal.ts'

const KINDS = ['hosted', 'proxy', 'group'] as const
type Kind = (typeof KINDS)[number]

/** The argument REPOSITORY, a key: `npm/team`. */
export function repositoryOf(given: Given) {
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
  const found = need(await client.call('GET /registries/{format}/{name}', { params: repositoryOf(given), signal }))
  if (context.json) {
    terminal.document(found)
    return EXITS.done
  }
  const members = found.members.length > 0 ? ` of ${found.members.join(', ')}` : ''
  const packages = found.packages === 1 ? '1 package' : `${found.packages} packages`
  terminal.print(`${found.key}: ${found.kind}${members}, ${packages}, ${found.url}`)
  const { upstream } = found
  if (upstream) terminal.print(`upstream ${plain(upstream.url)}${upstream.has_credential ? ', with a credential' : ''}`)
  for (const [rule, value] of flat(found.curation ?? {}).filter(([rule]) => rule))
    terminal.print(`${rule}=${typeof value === 'string' ? value : plain(JSON.stringify(value))}`)
  for (const { client: program, into, text } of found.setup)
    terminal.print(['', `# ${program} (${into})`, ...text.trimEnd().split('\n').map(plain)].join('\n'))
  return EXITS.done
}

async function create(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const members = listed(given, 'member')
  const upstream = given.text('upstream')
  const authorization = await authorizationOf(context, given)
  if (authorization !== undefined && upstream === undefined) throw usage('a credential goes with --upstream')
  const body = {
    ...repositoryOf(given),
    kind: (given.text('kind') as Kind | undefined) ?? (upstream ? 'proxy' : members ? 'group' : 'hosted'),
    ...{ members, description: given.text('description'), public: given.is('public') },
    ...(upstream === undefined ? {} : { upstream: { url: upstream, authorization } }),
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
  const params = repositoryOf(given)
  const authorization = await authorizationOf(context, given)
  const rules = given.list('rule')
  // Rules that there are not must be refused, and a credential belongs to an address.
  const isAboutProxy = rules.length > 0 || authorization !== undefined
  const now = isAboutProxy ? need(await client.call('GET /registries/{format}/{name}', { params, signal })) : null
  if (now && now.kind !== 'proxy') throw usage(`${now.key} is no proxy: it has neither rules nor an upstream`)
  const url = given.text('upstream') ?? (authorization === undefined ? undefined : now?.upstream?.url)
  const body = {
    ...(given.is('public') ? { public: true } : given.is('private') ? { public: false } : {}),
    ...{ members: listed(given, 'member'), description: given.text('description') },
    ...(url === undefined ? {} : { upstream: { url, authorization } }),
    ...(rules.length > 0 ? { curation: bodyOf(rules, { ...now?.curation }) } : {}),
  }
  const changed = need(await client.call('PATCH /registries/{format}/{name}', { params, body, signal }))
  if (context.json) terminal.document(changed)
  else terminal.print(`changed ${changed.key}`)
  return EXITS.done
}

/** A header for the upstream: from standard input, where no list of processes shows it. Null takes it away. */
async function authorizationOf({ terminal }: Context, given: Given): Promise<string | null | undefined> {
  if (given.is('no-authorization')) return null
  if (!given.is('with-authorization')) return undefined
  const text = terminal.canAsk
    ? await ask(terminal, 'Authorization (Bearer …)', 'it on standard input', true)
    : await firstLine(terminal.input)
  if (text.trim() === '') throw usage('standard input holds no credential')
  return text.trim()
}

async function remove(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const params = repositoryOf(given)
  if (!given.is('yes') && !(await confirm(terminal, `delete ${params.format}/${params.name}?`, '--yes')))
    throw failed('nothing was deleted')
  const answer = need(await client.call('DELETE /registries/{format}/{name}', { params, signal }))
  if (context.json) terminal.document(answer)
  else terminal.print(`deleted ${answer.key}`)
  return EXITS.done
}

export const REPOSITORY = { name: 'REPOSITORY', summary: 'ecosystem and name: npm/team, pypi/team' }
const SETTINGS = [
  { name: 'description', value: 'TEXT', summary: 'what it is for' },
  { name: 'public', summary: 'everybody may read it, without a token' },
  { name: 'member', value: 'NAME', many: true, summary: 'of a group: a repository of its ecosystem, in their order' },
  { name: 'upstream', value: 'URL', summary: 'of a proxy: the registry that it asks' },
  {
    name: 'with-authorization',
    summary: 'of a proxy: read the Authorization header for its upstream from standard input',
  },
]

export const repositoryCommands: readonly Command[] = [
  { name: 'repo list', summary: 'Repositories of libraries (npm, PyPI)', run: list },
  { name: 'repo show', summary: 'One repository, and how its clients are set up', arguments: [REPOSITORY], run: show },
  {
    name: 'repo create',
    summary: 'Make a repository: hosted, with --upstream a proxy, or with --member a group',
    arguments: [REPOSITORY],
    flags: [
      { name: 'kind', value: 'KIND', choices: KINDS, summary: 'by default what the other flags say' },
      ...SETTINGS,
    ],
    examples: [
      ['keep libraries of our own', 'repo create npm/team'],
      ['what another registry has, through the gate', 'repo create npm/world --upstream https://registry.example.org'],
      ['show two repositories under one address', 'repo create npm/all --member team --member vendor'],
    ],
    run: create,
  },
  {
    name: 'repo set',
    summary: 'Change a repository; what is left out stays as it is',
    arguments: [REPOSITORY],
    details:
      'Rules of a proxy begin with those that `repo show` prints. A text is written as it is, everything else as JSON.',
    flags: [
      ...SETTINGS,
      { name: 'no-authorization', summary: 'of a proxy: ask its upstream without a credential' },
      {
        name: 'rule',
        value: 'RULE=VALUE',
        many: true,
        summary: 'of a proxy: change a rule; several with several flags',
      },
      { name: 'private', summary: 'only with a token' },
    ],
    examples: [
      ['hold versions for two weeks', 'repo set npm/world --rule min_age_days=14'],
      ['hold a licence', `repo set npm/world --rule 'deny_licenses=["AGPL-3.0-only"]'`],
    ],
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
