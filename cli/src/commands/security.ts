// vulns, sbom.
import { writeFile } from 'node:fs/promises'
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, PAGES, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need } from '../failure.ts'
import { printPages, type List } from '../listing.ts'
import { ONE_VERSION, namedVersion } from '../named-package.ts'

async function vulns(context: Context, given: Given) {
  const client = await context.client()
  const query = {
    q: given.text('cve'),
    // Only when requested: `false` would select findings that are not known to be exploited.
    kev: given.is('kev') ? true : undefined,
    severity: given.text('severity'),
    distribution: given.text('distribution'),
  }
  return printPages(context, given, FINDINGS, async (page) =>
    need(await client.call('GET /security/vulnerabilities', { query: { ...query, ...page }, signal: context.signal })),
  )
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
      FLAGS.distribution,
      ...PAGES,
    ],
    examples: [['does it concern us?', 'vulns --cve CVE-2024-3094']],
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
