// Renders one package for primary.xml, filelists.xml and other.xml, with the fields that createrepo_c writes. Pure.
import type { StoredPackage } from '../../domain/package.ts'
import { fileListOf } from './file-list.ts'
import type { RpmRecord } from './read.ts'
import { isPrimaryFile, isRpmFeature, PRE_FLAGS, SENSE, type DependencyKind, type RpmDependency } from './relations.ts'
import { compareParts, parseEvr } from './versions.ts'
import { escapeAttribute, escapeXml } from './xml.ts'

type Pkg = StoredPackage<RpmRecord>

/** @param location of the file, relative to the base URL */
export function renderPrimary(pkg: Pkg, location: string): string {
  const { facts, digests, sizeBytes, addedAt } = pkg
  const { record } = facts
  return [
    '<package type="rpm">',
    `  ${element('name', facts.name)}`,
    `  ${element('arch', facts.arch)}`,
    `  ${versionElement(record)}`,
    `  <checksum type="sha256" pkgid="YES">${digests.sha256}</checksum>`,
    `  ${element('summary', record.summary)}`,
    `  ${element('description', record.description)}`,
    `  ${element('packager', record.packager)}`,
    `  ${element('url', record.url)}`,
    `  <time file="${addedAt}" build="${record.buildTime ?? 0}"/>`,
    `  <size package="${sizeBytes}" installed="${record.installedBytes}" archive="${record.archiveBytes}"/>`,
    `  <location href="${escapeAttribute(location)}"/>`,
    '  <format>',
    `    ${element('rpm:license', record.license)}`,
    `    ${element('rpm:vendor', record.vendor)}`,
    `    ${element('rpm:group', record.group)}`,
    `    ${element('rpm:buildhost', record.buildHost)}`,
    `    ${element('rpm:sourcerpm', record.sourceRpm)}`,
    `    <rpm:header-range start="${record.headerStart}" end="${record.headerEnd}"/>`,
    ...KINDS.flatMap((kind) => dependencyLines(kind, facts)),
    ...fileLines(facts, '    ', isPrimaryFile),
    '  </format>',
    '</package>',
    '',
  ].join('\n')
}

export function renderFilelists(pkg: Pkg): string {
  return [head(pkg), ...fileLines(pkg.facts, '  ', () => true), '</package>', ''].join('\n')
}

export function renderOther(pkg: Pkg): string {
  const { changelogs } = pkg.facts.record
  const lines = changelogs.map(
    ([author, time, text]) =>
      `  <changelog author="${escapeAttribute(author)}" date="${time}">${escapeXml(text)}</changelog>`,
  )
  return [head(pkg), ...lines, '</package>', ''].join('\n')
}

function head({ facts, digests }: Pkg): string {
  const { name, arch, record } = facts
  return `<package pkgid="${digests.sha256}" name="${escapeAttribute(name)}" arch="${escapeAttribute(arch)}">\n  ${versionElement(record)}`
}

function element(name: string, text: string | null): string {
  const content = escapeXml(text ?? '')
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`
}

function versionElement({ epoch, version, release }: RpmRecord): string {
  return `<version epoch="${epoch}" ver="${escapeAttribute(version)}" rel="${escapeAttribute(release)}"/>`
}

function fileLines(facts: Pkg['facts'], indent: string, wanted: (path: string) => boolean): string[] {
  const lines: string[] = []
  for (const { path, kind } of fileListOf(facts)) {
    if (!wanted(path)) continue
    const type = kind === 'file' ? '' : kind === 'directory' ? ' type="dir"' : ' type="ghost"'
    lines.push(`${indent}<file${type}>${escapeXml(path)}</file>`)
  }
  return lines
}

/** In the order of the elements. */
const KINDS: readonly DependencyKind[] = [
  'provides',
  'requires',
  'conflicts',
  'obsoletes',
  'suggests',
  'enhances',
  'recommends',
  'supplements',
]
const FLAG_WORDS: Readonly<Record<number, string>> = {
  [SENSE.LESS]: 'LT',
  [SENSE.LESS | SENSE.EQUAL]: 'LE',
  [SENSE.EQUAL]: 'EQ',
  [SENSE.GREATER | SENSE.EQUAL]: 'GE',
  [SENSE.GREATER]: 'GT',
}
const COMPARISON = SENSE.LESS | SENSE.GREATER | SENSE.EQUAL

function dependencyLines(kind: DependencyKind, facts: Pkg['facts']): string[] {
  const all = facts.record.dependencies[kind] ?? []
  const listed = kind === 'requires' ? neededRequires(all, facts) : all
  if (listed.length === 0) return []
  return [
    `    <rpm:${kind}>`,
    ...listed.map((dependency) => `      ${dependencyElement(dependency, kind === 'requires')}`),
    `    </rpm:${kind}>`,
  ]
}

function dependencyElement([name, flags, bound]: RpmDependency, isRequire: boolean): string {
  const word = FLAG_WORDS[flags & COMPARISON]
  let text = `<rpm:entry name="${escapeAttribute(name)}"`
  if (word) {
    const { epoch, version, release } = parseEvr(bound)
    text += ` flags="${word}" epoch="${escapeAttribute(epoch || '0')}" ver="${escapeAttribute(version)}"`
    if (release !== '') text += ` rel="${escapeAttribute(release)}"`
  }
  return `${text}${isRequire && flags & PRE_FLAGS ? ' pre="1"' : ''}/>`
}

/**
 * Omits what createrepo_c omits: features of rpm, requirements that the package itself meets by a provide or a primary file,
 * consecutive repetitions, and all but the highest of the C library's symbol versions.
 */
function neededRequires(requires: readonly RpmDependency[], facts: Pkg['facts']): RpmDependency[] {
  const provided = new Set((facts.record.dependencies.provides ?? []).map(keyOf))
  const files = new Set<string>()
  for (const { path } of fileListOf(facts)) if (isPrimaryFile(path)) files.add(path)
  const last = new Map<string, string>()
  const needed: RpmDependency[] = []
  let libc: RpmDependency | null = null
  for (const dependency of requires) {
    const [name, flags] = dependency
    if (isRpmFeature(name) || files.has(name) || provided.has(keyOf(dependency))) continue
    const key = `${keyOf(dependency)} ${flags & PRE_FLAGS ? 1 : 0}`
    if (last.get(name) === key) continue
    last.set(name, key)
    if (name.startsWith('libc.so.6')) {
      if (!libc || compareSymbolVersions(libc[0], name) < 0) libc = dependency
    } else needed.push(dependency)
  }
  return libc ? [...needed, libc] : needed
}

/** Compares the text in the first brackets of `libc.so.6(GLIBC_2.34)(64bit)`: by its number, then other text, then none. */
function compareSymbolVersions(a: string, b: string): number {
  const [one, two] = [a, b].map((name) => /\(([^)]*)\)/.exec(name)?.[1])
  const rank = (text: string | undefined) => (text === undefined ? 0 : text === '' ? 1 : /[0-9]/.test(text) ? 3 : 2)
  const number = (text = '') => text.replace(/^[^0-9]*/, '')
  return rank(one) - rank(two) || compareParts(number(one), number(two))
}

function keyOf([name, flags, bound]: RpmDependency): string {
  return `${name} ${flags & COMPARISON} ${bound}`
}
