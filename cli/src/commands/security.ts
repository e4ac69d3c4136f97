// vulns, sbom.
import { writeFile } from 'node:fs/promises'
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, PAGES, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need, usage } from '../failure.ts'
import { printPages, type List } from '../listing.ts'
import { ONE_VERSION, namedVersion } from '../named-package.ts'
import { plain } from '../terminal.ts'

async function vulns(context: Context, given: Given) {
  const client = await context.client()
  const query = {
    q: given.text('cve'),
    // Only when requested: `false` would select findings that are not known to be exploited.
    kev: given.is('kev') ? true : undefined,
    severity: given.text('severity'),
    distribution: given.text('distribution'),
  }
  const read = async (more: Partial<Record<'page' | 'per_page', number>> & { severity?: string }) =>
    need(await client.call('GET /security/vulnerabilities', { query: { ...query, ...more }, signal: context.signal }))
  const failOn = given.text('fail-on')
  const severities = failOn === undefined ? [] : worseThan(failOn, query.severity)
  const exit = await printPages(context, given, FINDINGS, read)
  if (failOn === undefined) return exit
  const open = await firstOpen((page) => read({ page, per_page: MOST_A_PAGE, severity: severities.join(',') }))
  if (!open) return exit
  context.terminal.complain(
    `${plain(open.id)} (${open.severity}) in ${plain(open.package)} ${plain(open.version)} is not accepted by a decision: failing because of --fail-on ${failOn}`,
  )
  return EXITS.refused
}

const SEVERITIES = ['Critical', 'High', 'Medium', 'Low', 'Negligible']
const MOST_A_PAGE = 200

/** This severity and all that are worse, as far as the list shows them. @throws Failure when it shows none of these */
function worseThan(severity: string, shown: string | undefined): string[] {
  const place = SEVERITIES.findIndex((one) => one.toLowerCase() === severity.toLowerCase())
  const wanted = shown?.toLowerCase().split(',')
  const all = SEVERITIES.slice(0, place + 1).filter((one) => !wanted || wanted.includes(one.toLowerCase()))
  if (all.length === 0)
    throw usage(`--severity ${shown ?? ''} leaves out everything that --fail-on ${severity} is about`)
  return all
}

/** The first finding that nobody has accepted: the page that is printed may end before it. */
async function firstOpen(read: (page: number) => Promise<Findings>): Promise<Findings['items'][number] | null> {
  for (let page = 1; ; page++) {
    const { items } = await read(page)
    const open = items.find((one) => !one.accepted_by_decision)
    if (open || items.length < MOST_A_PAGE) return open ?? null
  }
}

type Findings = AnswerOf<'GET /security/vulnerabilities'>

const FINDINGS: List<Findings, Findings['items'][number]> = {
  rows: ({ items }) => items,
  head: ['FINDING', 'SEVERITY', 'PACKAGE', 'VERSION', 'DISTRIBUTION', 'STATUS', 'SERVED', 'EXPLOITED', 'FIX'],
  cells: (one) => [
    ...[one.id, one.severity, one.package, one.version, one.distribution, one.status, one.served ? 'yes' : 'no'],
    ...[one.in_kev ? 'yes' : 'no', one.fix_versions.join(', ') || one.fix_state],
  ],
  none: ({ packages_scanned: scanned }) =>
    `nothing found in ${scanned} scanned packages; those that could not be scanned have no findings`,
}

async function sbom(context: Context, given: Given) {
  const client = await context.client()
  const params = namedVersion(given)
  const query = {
    format: (given.text('format') ?? 'cyclonedx') as 'cyclonedx' | 'spdx',
    distribution: given.text('distribution'),
    arch: given.text('arch'),
  }
  const text = await need(
    await client.open('GET /sbom/{name}/{version}', { params, query, signal: context.signal }),
  ).text()
  const file = given.text('output')
  if (file === undefined) context.terminal.print(text.trimEnd())
  else await writeFile(file, text)
  return EXITS.done
}

export const securityCommands: readonly Command[] = [
  {
    name: 'vulns',
    summary: 'Known vulnerabilities of the packages here',
    flags: [
      {
        name: 'cve',
        value: 'ID',
        summary: 'only this one, or those with this text in them: which packages have it, and whether they are served',
      },
      { name: 'kev', summary: 'only those that are known to be exploited' },
      { name: 'severity', value: 'WORDS', summary: 'Critical, High, Medium, Low, …; several with commas' },
      {
        name: 'fail-on',
        value: 'SEVERITY',
        choices: SEVERITIES.map((one) => one.toLowerCase()),
        summary: 'exit 3 if one of them is so severe or worse, and no decision accepts it',
      },
      FLAGS.distribution,
      ...PAGES,
    ],
    examples: [
      ['does it concern us?', 'vulns --cve CVE-2024-3094'],
      ['stop a pipeline', 'vulns -d noble --fail-on high'],
    ],
    run: vulns,
  },
  {
    name: 'sbom',
    summary: 'The bill of materials of a version',
    arguments: ONE_VERSION,
    flags: [
      {
        name: 'format',
        value: 'FORMAT',
        choices: ['cyclonedx', 'spdx'],
        summary: 'CycloneDX 1.5 (default) or SPDX 2.3',
      },
      FLAGS.distribution,
      FLAGS.arch,
      FLAGS.output,
    ],
    run: sbom,
  },
]
