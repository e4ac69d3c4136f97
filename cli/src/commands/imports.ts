// import search, add, sync.
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS, gravest, type Exit } from '../exits.ts'
import { failed, failureOf, need, usage } from '../failure.ts'
import { plain } from '../terminal.ts'

async function search(context: Context, given: Given) {
  const client = await context.client()
  const query = {
    q: must(given, 'TEXT'),
    limit: given.number('limit', 1, 100),
    source_id: sourceOf(given),
    distro: given.text('distro'),
  }
  const answer = need(await client.call('GET /import/search', { query, signal: context.signal }))
  if (context.json) context.terminal.document(answer)
  else {
    context.terminal.table(
      ['NAME', 'VERSION', 'ARCH', 'SOURCES', 'FOR', 'WHAT'],
      answer.results.map((one) => [
        one.name,
        one.version,
        one.arch,
        one.sources.map((source) => source.source_id).join(','),
        [...new Set(one.sources.map(({ distro }) => distro ?? '-'))].join(','),
        one.description?.split('\n')[0] ?? '',
      ]),
    )
    context.terminal.note(answer.more ? `the first ${answer.count}; there are more` : `${answer.count} found`)
  }
  return EXITS.done
}

const sourceOf = (given: Given) => given.number('source', 1, 2_147_483_647)

type Imported = AnswerOf<'POST /import'>['results'][number]

async function add(context: Context, given: Given) {
  const { terminal } = context
  const names = given.list('PKG')
  const version = given.text('version-of')
  if (version !== undefined && names.length > 1) throw usage('--version-of goes with one package')
  if (names.length > 50) throw usage('at most 50 packages at once')
  const client = await context.client()
  const packages = names.map((name) => ({
    package: name,
    version,
    arch: given.text('arch'),
    source_id: sourceOf(given),
  }))
  const body = { packages, distribution: must(given, 'distribution'), with_dependencies: given.is('with-dependencies') }
  const answer = need(await client.call('POST /import', { body, signal: context.signal }))
  if (context.json) terminal.document(answer)
  else
    terminal.table(
      ['RESULT', 'NAME', 'VERSION', 'ARCH', 'WHY'],
      answer.results.map((one) => [one.status, one.package, one.version ?? '-', one.arch ?? '-', one.detail ?? '']),
    )
  return gravest(answer.results.map((one) => exitOfImport(one, given.is('allow-held'))))
}

function exitOfImport({ status }: Imported, allowHeld: boolean): Exit {
  if (status === 'blocked') return EXITS.refused
  if (status === 'pending_review') return allowHeld ? EXITS.done : EXITS.held
  return status === 'error' ? EXITS.failed : EXITS.done
}

interface JobLine {
  level?: string
  message?: string
}

async function sync(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const sources = given.list('SOURCE').map((one) => (/^\d+$/.test(one) ? Number(one) : one))
  const started = need(
    await client.call('POST /import/sync/start', { body: sources.length > 0 ? { source_ids: sources } : {}, signal }),
  )
  const id = started.job_id
  if (started.already_running) terminal.note('a sync was running already; this follows it')
  if (!given.is('detach'))
    for await (const result of client.events(`/import/sync/jobs/${id}/stream`, { signal })) {
      if (!result.ok) {
        if (result.error.status !== null && result.error.status < 500) throw failureOf(result.error)
        continue
      }
      const line = result.data.data as JobLine & { job_id?: number }
      if (line.job_id !== undefined) break
      if (line.message) terminal.note(plain(line.message))
    }
  const job = need(await client.call('GET /import/sync/jobs/{id}', { params: { id }, signal }))
  if (context.json) terminal.document(job)
  else
    terminal.print(
      `${plain(job.label)}: ${job.status}, ${job.done_count} of ${job.total} sources, ${job.error_count} with errors`,
    )
  if (job.status === 'cancelled') throw failed('the sync was cancelled')
  return job.status === 'error' || job.error_count > 0 ? EXITS.failed : EXITS.done
}

const SOURCE = {
  name: 'source',
  value: 'ID',
  summary: 'number of the source, as `import search` and `api GET /import/sources` show it',
}

export const importCommands: readonly Command[] = [
  {
    name: 'import search',
    summary: 'Find packages in the catalogs of the sources',
    arguments: [{ name: 'TEXT', summary: 'words of the name, or a whole name of what packages provide' }],
    flags: [
      SOURCE,
      { name: 'distro', value: 'NAME', summary: 'only sources for this distribution' },
      { name: 'limit', value: 'N', summary: 'at most so many, 1 to 100 (default 20)' },
    ],
    run: search,
  },
  {
    name: 'import add',
    summary: 'Fetch packages of sources and send them through the gate',
    arguments: [{ name: 'PKG', many: true, summary: 'names of packages, at most 50' }],
    flags: [
      { ...FLAGS.distribution, required: true, summary: 'where to' },
      { ...SOURCE, required: true },
      { name: 'version-of', value: 'VERSION', summary: 'this version; by default the newest' },
      FLAGS.arch,
      { name: 'with-dependencies', summary: 'what they need too' },
      { name: 'allow-held', summary: 'exit 0 for packages that are held for review' },
    ],
    examples: [['with what it needs', 'import add nginx -d bookworm --source 3 --with-dependencies']],
    run: add,
  },
  {
    name: 'import sync',
    summary: 'Read the catalogs of sources again, and wait for it',
    arguments: [
      {
        name: 'SOURCE',
        optional: true,
        many: true,
        summary: 'numbers or keys of sources; all enabled ones by default',
      },
    ],
    flags: [{ name: 'detach', summary: 'do not wait' }],
    run: sync,
  },
]
