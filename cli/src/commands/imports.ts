// import search, add, sync.
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS, gravest, type Exit } from '../exits.ts'
import { failed, need, usage } from '../failure.ts'
import { followJob } from '../follow-job.ts'
import { printRows } from '../listing.ts'
import { packageIn, VERSION_OF, withVersion } from '../named-package.ts'
import { once } from '../once.ts'
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
  const exit = printRows(
    context,
    { ...answer, total: answer.count },
    {
      rows: ({ results }) => results,
      head: ['NAME', 'VERSION', 'ARCH', 'SOURCES', 'FOR', 'WHAT'],
      cells: (one) => [
        ...[one.name, one.version, one.arch, one.sources.map((source) => source.source_id).join(',')],
        ...[[...new Set(one.sources.map(({ distro }) => distro ?? '-'))].join(',')],
        one.description?.split('\n')[0] ?? '',
      ],
      none: () => 'nothing found',
    },
  )
  if (answer.more)
    context.terminal.complain(`warning: the first ${answer.count}; there are more: add words, or --limit`)
  return exit
}

const sourceOf = (given: Given) => given.number('source', 1, 2_147_483_647)

type Imported = AnswerOf<'POST /import'>['results'][number]

async function add(context: Context, given: Given) {
  const { terminal } = context
  const names = given.list('PKG[@VERSION]')
  if (names.length > 50) throw usage('at most 50 packages at once')
  const client = await context.client()
  const alone = names.length === 1 ? given.text('version-of') : undefined
  const packages = names.map(packageIn).map((one) => ({
    package: one.name,
    version: withVersion(one, alone).version,
    arch: given.text('arch'),
    source_id: sourceOf(given),
  }))
  const body = { packages, distribution: must(given, 'distribution'), with_dependencies: given.is('with-dependencies') }
  const answer = need(await client.call('POST /import', { body, headers: once(), signal: context.signal }))
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

async function sync(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const sources = given.list('SOURCE').map((one) => (/^\d+$/.test(one) ? Number(one) : one))
  const started = need(
    await client.call('POST /import/sync/start', { body: sources.length > 0 ? { source_ids: sources } : {}, signal }),
  )
  const id = started.job_id
  if (started.already_running) terminal.note('a sync was running already; this follows it')
  if (!given.is('detach')) await followJob(context, client, `/import/sync/jobs/${id}/stream`)
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
  summary: 'number of the source, as `source list` shows it',
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
    arguments: [
      {
        name: 'PKG[@VERSION]',
        many: true,
        summary: 'packages, the newest version unless one is named, at most 50; - reads them from standard input',
      },
    ],
    flags: [
      { ...FLAGS.distribution, required: true, summary: 'where to' },
      { ...SOURCE, required: true },
      VERSION_OF,
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
        summary: 'numbers or keys of sources; all enabled ones by default; - reads them from standard input',
      },
    ],
    flags: [{ name: 'detach', summary: 'do not wait' }],
    run: sync,
  },
]
