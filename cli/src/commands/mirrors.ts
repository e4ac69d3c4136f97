// mirror list, set, plan, run.
import type { AnswerOf } from 'gatehouse-client'
import { bodyOf, flat } from '../assignments.ts'
import { must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need } from '../failure.ts'
import { followJob } from '../follow-job.ts'
import { printRows } from '../listing.ts'
import { sizeText } from '../spans.ts'
import { plain } from '../terminal.ts'

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /import/mirror/sources', { signal: context.signal }))
  return printRows(context, answer, {
    rows: ({ sources }) => sources,
    head: ['SOURCE', 'KEY', 'NAME', 'INTO', 'DAILY', 'NAMES', 'LAST RUN', 'ADDED', 'WHY IT STOPPED'],
    cells: (one) => [
      ...[one.id, one.key ?? '-', one.label, one.distribution ?? '-', one.enabled ? 'yes' : 'no', one.names_total],
      ...[one.last_job?.status ?? 'never', one.last_job?.added ?? '-', one.last_job?.stopped ?? '-'],
    ],
    none: () => 'nothing is mirrored',
  })
}

/** A mirror that is set for the first time. */
const NEW = {
  ...{ distribution: null, enabled: true, names: [], globs: [], exclude: [], sections: [], architectures: [] },
  ...{ keep_latest: 1, with_dependencies: false, remove_withdrawn: false, remove_at_most_percent: 5 },
}

/** Changes what is named and keeps the rest. Somebody else who changes it at the same time is not overwritten. */
async function set(context: Context, given: Given) {
  const { terminal, signal } = context
  const params = { id: must(given, 'SOURCE') }
  const client = await context.client()
  const read = await client.call('GET /import/mirror/sources/{id}', { params, signal })
  if (!read.ok && read.error.code !== 'not_found') need(read)
  const present = read.ok
    ? { distribution: read.data.distribution, enabled: read.data.enabled, ...read.data.selection }
    : NEW
  const { distribution, ...body } = { ...present, ...bodyOf(given.list('KEY=VALUE'), present) }
  const made = need(
    await client.call('PUT /import/mirror/sources/{id}', {
      params,
      body: { ...body, ...(distribution === null ? {} : { distribution }) },
      headers: { 'if-match': (read.ok && read.headers.get('etag')) || '"none"' },
      signal,
    }),
  )
  if (context.json) terminal.document(made)
  else
    for (const [key, value] of flat({ distribution: made.distribution, enabled: made.enabled, ...made.selection }))
      terminal.print(`${key}\t${plain(typeof value === 'string' ? value : JSON.stringify(value))}`)
  return EXITS.done
}

type Plan = AnswerOf<'GET /import/mirror/sources/{id}/plan'>

async function plan(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const answer = need(
    await client.call('GET /import/mirror/sources/{id}/plan', { params: { id: must(given, 'SOURCE') }, signal }),
  )
  if (context.json) terminal.document(answer)
  else {
    terminal.table(
      ['NAME', 'VERSION', 'ARCH', 'SIZE', 'POLICY', 'FINDINGS', 'NEEDED BY'],
      answer.packages.map((one) => [
        ...[one.name, one.version, one.arch, sizeText(one.size_bytes), one.action, one.findings, one.needed_by ?? '-'],
      ]),
    )
    explain(context, answer)
  }
  return EXITS.done
}

function explain(
  { terminal }: Context,
  { missing, packages, missing_bytes: bytes, distribution, limits, ...rest }: Plan,
) {
  if (packages.length < missing) terminal.complain(`warning: ${packages.length} of ${missing} are listed`)
  terminal.note(
    `${missing} would come into ${plain(distribution)}, ${sizeText(bytes)}, in ${limits.runs} runs; ${rest.present} are there`,
  )
  for (const { reason, count } of rest.left_out) terminal.note(`${count} left out: ${plain(reason)}`)
  if (rest.unmatched.total > 0)
    terminal.complain(
      `warning: ${rest.unmatched.total} names match nothing: ${rest.unmatched.names.map(plain).join(', ')}`,
    )
  if (!limits.fits)
    terminal.complain(`warning: needs ${sizeText(limits.needed_bytes)}, and ${sizeText(limits.free_bytes)} are free`)
}

async function run(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const started = need(
    await client.call('POST /import/mirror/start/{source}', {
      params: { source: must(given, 'SOURCE') },
      query: { limit: given.number('limit', 1, 1_000_000) },
      signal,
    }),
  )
  const id = started.job_id
  if (started.already_running) terminal.note('a run was going on already; this follows it')
  if (!given.is('detach')) await followJob(context, client, `/import/mirror/jobs/${id}/stream`)
  const job = need(await client.call('GET /import/mirror/jobs/{id}', { params: { id }, signal }))
  if (context.json) terminal.document(job)
  else
    terminal.print(
      `${plain(job.label)}: ${job.status}, ${job.added} added, ${job.pending} held, ${job.blocked} blocked, ${job.skipped} skipped, ${job.error} with errors`,
    )
  if (job.status === 'cancelled') throw failed('the run was cancelled')
  return job.status === 'error' || job.error > 0 ? EXITS.failed : EXITS.done
}

const SOURCE = { name: 'SOURCE', summary: 'number or key of the source, as `mirror list` shows it' }

export const mirrorCommands: readonly Command[] = [
  { name: 'mirror list', summary: 'What is mirrored of each source, and how the last run ended', run: list },
  {
    name: 'mirror set',
    summary: 'Say what is mirrored of a source; keeps what is not named',
    details: 'A text is written as it is, everything else as JSON. `mirror plan` then shows what would come.',
    arguments: [
      SOURCE,
      { name: 'KEY=VALUE', many: true, summary: 'such as distribution=noble, globs=["nginx*"], keep_latest=2' },
    ],
    examples: [['all packages with these names', `mirror set 7 distribution=noble 'globs=["nginx*","curl"]'`]],
    run: set,
  },
  {
    name: 'mirror plan',
    summary: 'What a run would bring, how large it is, and what the policy would say of it',
    details: 'Nothing is fetched.',
    arguments: [SOURCE],
    run: plan,
  },
  {
    name: 'mirror run',
    summary: 'Import what a mirror lacks, and wait for it',
    arguments: [SOURCE],
    flags: [
      { name: 'limit', value: 'N', summary: 'at most so many packages' },
      { name: 'detach', summary: 'do not wait' },
    ],
    run,
  },
]
