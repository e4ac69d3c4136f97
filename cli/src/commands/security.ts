// vulns, sbom.
import { writeFile } from 'node:fs/promises'
import { FLAGS, must, pageOf, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need } from '../failure.ts'

async function vulns(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const cve = given.text('cve')
  const query = {
    ...pageOf(given),
    q: cve,
    // Only when requested: `false` would select findings that are not known to be exploited.
    kev: given.is('kev') ? true : undefined,
    severity: given.text('severity'),
    distribution: given.text('distribution'),
  }
  const page = need(await client.call('GET /security/vulnerabilities', { query, signal }))
  if (context.json) terminal.document(page)
  else {
    terminal.table(
      ['FINDING', 'SEVERITY', 'PACKAGE', 'VERSION', 'DISTRIBUTION', 'STATUS', 'SERVED', 'EXPLOITED', 'FIX'],
      page.items.map((one) => [
        ...[one.id, one.severity, one.package, one.version, one.distribution, one.status, one.served ? 'yes' : 'no'],
        ...[one.in_kev ? 'yes' : 'no', one.fix_versions.join(', ') || one.fix_state],
      ]),
    )
    if (page.total === 0)
      terminal.note(
        `nothing found in ${page.packages_scanned} scanned packages; those that could not be scanned have no findings`,
      )
    if (page.total > page.items.length)
      terminal.note(
        `${page.items.length} of ${page.total}${page.total_capped ? ' or more' : ''}; --page and --limit show others`,
      )
  }
  return EXITS.done
}

async function sbom(context: Context, given: Given) {
  const client = await context.client()
  const params = { name: must(given, 'PKG'), version: must(given, 'VERSION') }
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
      FLAGS.limit,
      FLAGS.page,
    ],
    examples: [['does it concern us?', 'vulns --cve CVE-2024-3094']],
    run: vulns,
  },
  {
    name: 'sbom',
    summary: 'The bill of materials of a version',
    arguments: [
      { name: 'PKG', summary: 'name of the package' },
      { name: 'VERSION', summary: 'the version' },
    ],
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
