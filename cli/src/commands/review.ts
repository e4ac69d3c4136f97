// review list, show, approve, reject, rescan.
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, must, PAGES, type Command, type Context, type Given } from '../command.ts'
import { EXITS, exitOf } from '../exits.ts'
import { Failure, failed, need } from '../failure.ts'
import { printPages, type List } from '../listing.ts'
import { confirm } from '../prompt.ts'
import { spanDays } from '../spans.ts'
import { ONE_VERSION, namedVersion } from '../named-package.ts'
import { once } from '../once.ts'
import { plain } from '../terminal.ts'

async function list(context: Context, given: Given) {
  const client = await context.client()
  const query = {
    include_findings: given.is('findings'),
    q: given.text('text'),
    severity: given.text('severity'),
    distribution: given.text('distribution'),
    kev: given.is('kev') ? true : undefined,
  }
  return printPages(context, given, HELD, async (page) =>
    need(await client.call('GET /security/review-queue', { query: { ...query, ...page }, signal: context.signal })),
  )
}

type Queue = AnswerOf<'GET /security/review-queue'>

const HELD: List<Queue, Queue['items'][number]> = {
  rows: ({ items }) => items,
  head: ['NAME', 'VERSION', 'ARCH', 'DISTRIBUTION', 'WHY', 'WORST', 'FINDINGS', 'EXPLOITED', 'DUE', 'SERVED'],
  cells: (one) => [
    ...[one.name, one.version, one.arch, one.distribution, one.held_reason, one.worst_severity ?? '-', one.total_cve],
    ...[one.kev_count, one.sla.expires_at ?? '-', one.served ? 'yes' : 'no'],
  ],
  none: () => 'nothing waits for a decision',
}

const selected = (given: Given) => ({
  params: namedVersion(given),
  query: { distribution: given.text('distribution'), arch: given.text('arch') },
})

async function show(context: Context, given: Given) {
  const { terminal } = context
  const client = await context.client()
  const answer = need(
    await client.call('GET /security/packages/{name}/{version}/decision', {
      ...selected(given),
      signal: context.signal,
    }),
  )
  if (context.json) {
    terminal.document(answer)
    return EXITS.done
  }
  const { manifest, decision, sla } = answer
  terminal.print(
    `${plain(manifest.name)} ${plain(manifest.version)} (${plain(manifest.arch)}) in ${plain(manifest.distribution)}: ${manifest.status}${manifest.served ? ', served' : ', not served'}`,
  )
  terminal.print(`sha256 ${manifest.sha256}`)
  if (sla.expires_at) terminal.print(`due ${sla.expires_at}${sla.expired ? ' (over)' : ''}`)
  if (decision)
    terminal.print(`decided by ${plain(decision.decided_by)}: ${decision.action}, ${plain(decision.justification)}`)
  for (const { name, passed, message, warning } of manifest.validation_steps)
    terminal.print(
      `  ${passed && !warning ? 'ok     ' : passed ? 'warning' : 'stopped'}  ${plain(name)}: ${plain(message)}`,
    )
  const findings = manifest.cve_results
  if (findings === null) terminal.print('not scanned for vulnerabilities')
  else if (findings.length === 0) terminal.print('no findings')
  else
    terminal.table(
      ['FINDING', 'SEVERITY', 'CVSS', 'EPSS', 'EXPLOITED', 'POLICY', 'FIX'],
      findings.map((one) => [
        one.id,
        one.severity,
        one.cvss ?? '-',
        one.epss_label ?? '-',
        one.in_kev ? 'yes' : 'no',
        one.action,
        one.fix_versions.join(', ') || one.fix_state,
      ]),
    )
  return EXITS.done
}

/** Digest of the held file; undefined when there is none: the decision itself reports that better. */
async function digestOf(context: Context, given: Given): Promise<string | undefined> {
  const client = await context.client()
  const answer = await client.call('GET /security/packages/{name}/{version}/decision', {
    ...selected(given),
    signal: context.signal,
  })
  return answer.ok ? answer.data.manifest.sha256 : undefined
}

/** What the flags say of a decision, as the API takes it. @throws Failure */
export function decisionOf(given: Given, decision: 'approve' | 'reject') {
  const expires = given.text('expires')
  const cves = given.list('cve')
  return {
    decision,
    justification: must(given, 'reason'),
    ...(expires === undefined ? {} : { expires_in_days: spanDays(expires, 'expires') }),
    ...(cves.length > 0 ? { cve_ids: cves } : {}),
  }
}

async function decide(context: Context, given: Given, decision: 'approve' | 'reject') {
  const { terminal } = context
  const { params, query } = selected(given)
  const what = `${params.name} ${params.version}`
  const dryRun = given.is('dry-run')
  const client = await context.client()
  // Before the question: the decision is about the current file, or about the one that --sha256 names.
  const sha256 = given.text('sha256') ?? (await digestOf(context, given))
  if (decision === 'reject' && !dryRun && !given.is('yes')) {
    const question = `reject ${what}? Clients lose it where they have it, and the same bytes are refused from now on.`
    if (!(await confirm(terminal, question, '--yes'))) throw failed('nothing was decided')
  }
  const body = decisionOf(given, decision)
  if (dryRun) {
    const items = [{ package: params.name, version: params.version, ...query, sha256 }]
    const preview = need(
      await client.call('POST /security/decisions/bulk', {
        body: { ...body, items, dry_run: true },
        signal: context.signal,
      }),
    )
    return foretell(context, what, preview)
  }
  const answer = need(
    await client.call('POST /security/packages/{name}/{version}/decide', {
      params,
      query,
      body: { ...body, sha256 },
      headers: once(),
      signal: context.signal,
    }),
  )
  if (context.json) terminal.document(answer)
  else
    terminal.print(
      `${plain(what)}: ${answer.new_status} (${answer.decisions.length === 1 ? plain(answer.decisions[0]?.distribution ?? '') : `${answer.decisions.length} records`})`,
    )
  return EXITS.done
}

type Preview = AnswerOf<'POST /security/decisions/bulk'>

export const EFFECTS = { offers: 'clients get it', withdraws: 'clients lose it', none: 'no change for clients' }

/** Prints the result of a dry run. @throws Failure with the exit code that the decision itself would have */
function foretell({ terminal, json }: Context, what: string, preview: Preview) {
  const refused = preview.items.find(({ result }) => result === 'failed')
  if (refused) {
    const { code, detail } = { code: refused.code ?? 'failed', detail: refused.detail ?? '' }
    throw new Failure(exitOf({ code, status: null }), `would be refused: ${detail} [${code}]`, { code, detail })
  }
  if (json) terminal.document(preview)
  else
    for (const { distribution, arch, status, effect } of preview.items.flatMap(({ records }) => records))
      terminal.print(
        `${plain(what)} (${plain(arch)}) in ${plain(distribution)}: would be ${status}, ${EFFECTS[effect]}`,
      )
  return EXITS.done
}

async function rescan(context: Context, given: Given) {
  const client = await context.client()
  const answer = need(
    await client.call('POST /security/packages/{name}/{version}/rescan', {
      ...selected(given),
      signal: context.signal,
    }),
  )
  if (context.json) context.terminal.document(answer)
  else
    context.terminal.table(
      ['DISTRIBUTION', 'ARCH', 'SCAN', 'BEFORE', 'NOW', 'NEW', 'GONE'],
      answer.records.map((one) => [
        one.distribution,
        one.arch,
        one.cve_scan,
        one.previous_status,
        one.new_status,
        one.new_cve_ids.join(', ') || '-',
        one.dropped_cve_ids.join(', ') || '-',
      ]),
    )
  return EXITS.done
}

const REASON = { name: 'reason', value: 'TEXT', required: true, summary: 'why, for those who ask later' }
const SHA256 = {
  name: 'sha256',
  value: 'HEX',
  summary: 'of the file you looked at; without it, of the one that is there now',
}
const CVE = { name: 'cve', value: 'ID', many: true, summary: 'the findings that the decision is about; all by default' }
const EXPIRES = {
  name: 'expires',
  value: 'TIME',
  summary: 'until then only, such as 30d: it comes back for review',
}
export const DECISION_FLAGS = [REASON, EXPIRES, CVE]

export const reviewCommands: readonly Command[] = [
  {
    name: 'review list',
    summary: 'What waits for a decision, the most urgent first',
    flags: [
      { name: 'text', value: 'TEXT', summary: 'only those with this text, such as a CVE id or a name' },
      { name: 'severity', value: 'WORDS', summary: 'only with findings so severe; several with commas' },
      { name: 'kev', summary: 'only those with a finding that is known to be exploited' },
      FLAGS.distribution,
      { name: 'findings', summary: 'with the findings of each, for --json' },
      ...PAGES,
    ],
    run: list,
  },
  {
    name: 'review show',
    summary: 'Why a version is held: steps, findings, decision',
    arguments: ONE_VERSION,
    flags: [FLAGS.distribution, FLAGS.arch],
    run: show,
  },
  {
    name: 'review approve',
    summary: 'Let a held version in; ends when clients can install it',
    arguments: ONE_VERSION,
    flags: [...DECISION_FLAGS, SHA256, FLAGS.distribution, FLAGS.arch, FLAGS.dryRun],
    examples: [['for a month', "review approve hello@1.0 --reason 'not reachable from outside' --expires 30d"]],
    run: (context, given) => decide(context, given, 'approve'),
  },
  {
    name: 'review reject',
    summary: 'Refuse a held version for good',
    arguments: ONE_VERSION,
    flags: [REASON, CVE, SHA256, FLAGS.distribution, FLAGS.arch, FLAGS.dryRun, FLAGS.yes],
    run: (context, given) => decide(context, given, 'reject'),
  },
  {
    name: 'review rescan',
    summary: 'Scan a version again with the data of now',
    arguments: ONE_VERSION,
    flags: [FLAGS.distribution, FLAGS.arch],
    run: rescan,
  },
]
