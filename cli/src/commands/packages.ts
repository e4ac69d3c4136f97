// search, show, deps, delete.
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, PAGES, type Command, type Context, type Flag, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need } from '../failure.ts'
import { printPages, type List } from '../listing.ts'
import { confirm } from '../prompt.ts'
import { sizeText } from '../spans.ts'
import { ANY_VERSION, ONE_VERSION, namedPackage, namedVersion, VERSION_OF } from '../named-package.ts'
import { plain } from '../terminal.ts'

const STATUSES = ['published', 'pending_review', 'quarantined', 'rejected'] as const

async function search(context: Context, given: Given) {
  const client = await context.client()
  const query = {
    search: given.text('TEXT'),
    distribution: given.text('distribution'),
    status: given.text('status') as (typeof STATUSES)[number] | undefined,
  }
  return printPages(context, given, FOUND, async (page) =>
    need(await client.call('GET /artifacts', { query: { ...query, ...page }, signal: context.signal })),
  )
}

type Found = AnswerOf<'GET /artifacts'>

const FOUND: List<Found, Found['items'][number]> = {
  rows: ({ items }) => items,
  head: ['NAME', 'LATEST', 'STATUS', 'DISTRIBUTIONS'],
  cells: (item) => [item.name, item.latest_version, item.status, item.distributions.join(', ')],
  none: () => 'nothing found',
}

async function show(context: Context, given: Given) {
  const { terminal } = context
  const client = await context.client()
  const { name, version } = namedPackage(given)
  const query = {
    version,
    format: given.text('format') as (typeof FORMATS)[number] | undefined,
    distribution: given.text('distribution'),
    arch: given.text('arch'),
  }
  const found = need(await client.call('GET /artifacts/{name}', { params: { name }, query, signal: context.signal }))
  const records = found.versions
  if (context.json) {
    terminal.document(found)
    return EXITS.done
  }
  const [first] = records
  terminal.print(`${plain(found.name)}: ${plain(found.info.description?.split('\n')[0] ?? '')}`)
  terminal.table(
    ['VERSION', 'FORMAT', 'ARCH', 'DISTRIBUTION', 'STATUS', 'SERVED', 'SIZE', 'FINDINGS', 'CAME IN'],
    records.map((one) => [
      ...[
        one.version,
        one.format,
        one.arch,
        one.distribution,
        one.status,
        one.served ? 'yes' : 'no',
        sizeText(one.size_bytes),
      ],
      one.cve_results === null ? 'not scanned' : one.cve_results.length,
      one.imported_at,
    ]),
  )
  if (records.length === 1 && first) {
    terminal.print('')
    terminal.print(`sha256 ${first.sha256}`)
    terminal.table(
      ['STEP', 'RESULT', 'WHAT'],
      first.validation_steps.map(({ name: step, passed, message, warning }) => [
        step,
        passed ? (warning ? 'warning' : 'ok') : 'stopped',
        message,
      ]),
    )
  }
  if (found.versions_total > found.versions.length)
    terminal.complain(`warning: the latest ${found.versions.length} of ${found.versions_total} records`)
  return EXITS.done
}

async function deps(context: Context, given: Given) {
  const client = await context.client()
  const { name, version } = namedPackage(given)
  const query = {
    version,
    distribution: given.text('distribution'),
    arch: given.text('arch'),
  }
  const answer = need(
    await client.call('GET /artifacts/{name}/dependencies', {
      params: { name },
      query,
      signal: context.signal,
    }),
  )
  if (context.json) context.terminal.document(answer)
  else {
    context.terminal.table(
      ['NEEDS', 'HERE', 'UPSTREAM'],
      answer.dependencies.map((one) => [
        `${one.name} ${one.version_constraint}`.trim(),
        one.available_internally ? 'yes' : 'no',
        one.available_upstream === null ? 'unknown' : one.available_upstream ? 'yes' : 'no',
      ]),
    )
    context.terminal.note(
      answer.all_satisfied
        ? `everything that ${plain(answer.package)} ${plain(answer.version)} needs is in ${plain(answer.distribution)}`
        : `${answer.missing_total} of ${answer.dependencies_total} are missing in ${plain(answer.distribution)}`,
    )
  }
  return EXITS.done
}

async function remove(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const { name, version } = namedVersion(given)
  const selected = {
    format: given.text('format') as (typeof FORMATS)[number] | undefined,
    distribution: given.text('distribution'),
    arch: given.text('arch'),
  }
  const isDry = given.is('dry-run')
  const call = (dry: boolean) =>
    client.call('DELETE /artifacts/{name}/{version}', {
      params: { name, version },
      query: { ...selected, dry_run: dry },
      signal,
    })
  if (!isDry && !given.is('yes')) {
    if (!terminal.canAsk) await confirm(terminal, 'whether to delete it', '--yes')
    const preview = need(await call(true))
    for (const warning of preview.warnings) terminal.complain(`warning: ${plain(warning)}`)
    const where = preview.distributions.map(plain).join(', ')
    if (!(await confirm(terminal, `delete ${name} ${version} from ${where}?`, '--yes')))
      throw failed('nothing was deleted')
  }
  const answer = need(await call(isDry))
  if (context.json) terminal.document(answer)
  else {
    terminal.print(
      `${isDry ? 'would delete' : 'deleted'} ${plain(answer.package)} ${plain(answer.version)} from ${answer.distributions.map(plain).join(', ')}`,
    )
    for (const warning of isDry || given.is('yes') ? answer.warnings : [])
      terminal.complain(`warning: ${plain(warning)}`)
  }
  return EXITS.done
}

export const FORMATS = ['deb', 'rpm', 'apk'] as const
export const FORMAT: Flag = { name: 'format', value: 'FORMAT', choices: FORMATS, summary: 'only of this format' }

export const packageCommands: readonly Command[] = [
  {
    name: 'search',
    summary: 'Find packages by a part of their name or description',
    arguments: [{ name: 'TEXT', optional: true, summary: 'part of the name or description; without it all packages' }],
    flags: [
      FLAGS.distribution,
      { name: 'status', value: 'STATUS', choices: STATUSES, summary: 'only those with this status' },
      ...PAGES,
    ],
    examples: [
      ['what is held in noble', 'search -d noble --status pending_review'],
      ['names and versions of everything, for a script', 'search --all --fields name,latest_version'],
    ],
    run: search,
  },
  {
    name: 'show',
    summary: 'What is known about a package: where it is, its status, size and findings',
    details: 'With a single record left, also the steps of the gate.',
    arguments: ANY_VERSION,
    flags: [FORMAT, FLAGS.distribution, FLAGS.arch],
    run: show,
  },
  {
    name: 'deps',
    summary: 'What a package needs, and whether its distribution has it',
    details: 'Of the latest version, unless one is named.',
    arguments: ANY_VERSION,
    flags: [VERSION_OF, FLAGS.distribution, FLAGS.arch],
    run: deps,
  },
  {
    name: 'delete',
    summary: 'Delete a version of a package',
    details: 'From every format, distribution and architecture, unless --format, -d and --arch say which.',
    arguments: ONE_VERSION,
    flags: [FORMAT, FLAGS.distribution, FLAGS.arch, FLAGS.dryRun, FLAGS.yes],
    run: remove,
  },
]
