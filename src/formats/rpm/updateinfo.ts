// `updateinfo.xml` for dnf and zypper: which offered packages fix which advisories. Pure: knows neither feeds nor tables.
import type { Advisory } from '../../domain/advisory.ts'
import type { Severity } from '../../domain/finding.ts'
import type { BackgroundIndex, UpdateAdvisory, OfferedFile } from '../format.ts'
import { escapeAttribute, escapeXml } from './xml.ts'
import { parseEvr, versions } from './versions.ts'

export interface Fix {
  advisory: Advisory
  packages: readonly OfferedFile[]
}

/**
 * The advisories that offered packages fix, each with the lowest offered version of every package that fixes it: clients
 * compare that version with the installed one, and ignore it if theirs is later. Withdrawn advisories and those of modular
 * packages are left out. The order does not depend on the order of the input.
 */
export function fixesOf(known: readonly UpdateAdvisory[], offered: readonly OfferedFile[]): Fix[] {
  const byName = new Map<string, OfferedFile[]>()
  for (const one of offered) byName.set(one.facts.name, [...(byName.get(one.facts.name) ?? []), one])
  for (const list of byName.values()) list.sort((a, b) => versions.compare(a.facts.version, b.facts.version))

  const fixes = known.flatMap(({ advisory, affected }): Fix[] => {
    if (advisory.withdrawn !== null) return []
    const packages = new Map<string, OfferedFile>()
    for (const { package: name, ranges, stream } of affected) {
      if (stream !== null) continue
      for (const fixed of ranges.flatMap(({ events }) => events.flatMap((event) => event.fixed ?? []))) {
        for (const one of lowestFrom(fixed, byName.get(name) ?? [])) packages.set(one.filename, one)
      }
    }
    const sorted = [...packages.values()].sort((a, b) => compareText(a.filename, b.filename))
    return sorted.length > 0 ? [{ advisory, packages: sorted }] : []
  })
  return fixes.sort((a, b) => compareText(a.advisory.id, b.advisory.id))
}

/** For each architecture the first version that is not older; `offered` is in ascending order. */
function lowestFrom(fixed: string, offered: readonly OfferedFile[]): OfferedFile[] {
  const found = new Map<string, OfferedFile>()
  for (const one of offered) {
    const { version, arch } = one.facts
    if (!found.has(arch) && versions.compare(version, fixed) >= 0) found.set(arch, one)
  }
  return [...found.values()]
}

/** The words dnf knows; `None` is its word for no rating. */
const SEVERITIES: Readonly<Partial<Record<Severity, string>>> = {
  Critical: 'Critical',
  High: 'Important',
  Medium: 'Moderate',
  Low: 'Low',
}

/** https://github.com/openSUSE/libsolv/blob/master/ext/repo_updateinfoxml.c: both clients read the file with this code. */
export function renderUpdateinfo(fixes: readonly Fix[], codename: string): string {
  const updates = fixes.map(({ advisory, packages }) => renderUpdate(advisory, packages, codename))
  return `<?xml version="1.0" encoding="UTF-8"?>\n<updates>\n${updates.join('')}</updates>\n`
}

function renderUpdate(advisory: Advisory, packages: readonly OfferedFile[], codename: string): string {
  const { id, modified, severity, summary, cves, urls, security } = advisory
  const date = `${modified.slice(0, 10)} ${modified.slice(11, 19)}`
  const references = [
    ...cves.map((cve) => reference(`https://www.cve.org/CVERecord?id=${cve}`, cve, 'cve')),
    ...urls.map((url) => reference(url, id, 'self')),
  ]
  return [
    `  <update from="Gatehouse" status="final" type="${security ? 'security' : 'bugfix'}" version="1">`,
    `    <id>${escapeXml(id)}</id>`,
    `    <title>${escapeXml(summary ?? id)}</title>`,
    `    <issued date="${date}"/>`,
    `    <updated date="${date}"/>`,
    `    <severity>${SEVERITIES[severity] ?? 'None'}</severity>`,
    `    <description>${escapeXml(descriptionOf(advisory))}</description>`,
    '    <references>',
    ...references,
    '    </references>',
    `    <pkglist><collection short="${escapeAttribute(codename)}"><name>${escapeXml(codename)}</name>`,
    ...packages.map(renderPackage),
    '    </collection></pkglist>',
    '  </update>',
    '',
  ].join('\n')
}

/** Code unit order: the same everywhere. */
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function descriptionOf({ summary, cves, notes }: Advisory): string {
  const lines = cves.flatMap((cve) => (notes[cve] ? [`${cve}: ${notes[cve]}`] : []))
  return [summary ?? '', ...lines].filter((line) => line !== '').join('\n')
}

function reference(href: string, id: string, type: 'cve' | 'self'): string {
  const value = escapeAttribute(id)
  return `      <reference href="${escapeAttribute(href)}" id="${value}" title="${value}" type="${type}"/>`
}

function renderPackage({ facts, filename }: OfferedFile): string {
  const { epoch, version, release } = parseEvr(facts.version)
  const attributes = { name: facts.name, epoch: epoch || '0', version, release, arch: facts.arch }
  const written = Object.entries(attributes).map(([name, value]) => `${name}="${escapeAttribute(value)}"`)
  return `      <package ${written.join(' ')}><filename>${escapeXml(filename)}</filename></package>`
}

/** Named by its digest, like the other files of repodata, so that clients with an older index find their file. */
export function updateinfoPath(sha256: string, arch: string): string {
  return `${arch}/repodata/${sha256}-updateinfo.xml.gz`
}

export function isUpdateinfo({ path, sha256 }: BackgroundIndex): boolean {
  return path.endsWith(`/repodata/${sha256}-updateinfo.xml.gz`)
}
