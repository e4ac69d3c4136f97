// Installability compared with solvers of others: dose-debcheck decides the same question for deb, libsolv
// for rpm, both exactly; apt and apko search less.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apkFormat } from '../../../src/formats/apk/index.ts'
import type { PkginfoField } from '../../../src/formats/apk/pkginfo.ts'
import { parseProvides, parseRequirements } from '../../../src/formats/apk/relations.ts'
import { parseControl } from '../../../src/formats/deb/control.ts'
import { debFormat } from '../../../src/formats/deb/index.ts'
import { factsOf } from '../../../src/formats/deb/read.ts'
import type { Reach } from '../../../src/formats/architectures.ts'
import {
  createUniverse,
  type UniverseFormat,
  type UniversePackage,
} from '../../../src/formats/installation/universe.ts'
import { rpmFormat } from '../../../src/formats/rpm/index.ts'
import { createPrimaryHandler } from '../../../src/formats/rpm/primary.ts'
import { createXmlReader } from '../../../src/formats/rpm/xml-reader.ts'
import { createAptRoot } from '../../clients/apt-root.ts'
import { need } from '../../need.ts'
import { buildIndex } from '../../samples/apk.ts'
import { generate, type RandomPackage, type RandomRelation } from './generate.ts'

const directory = mkdtempSync(join(tmpdir(), 'solver-'))
beforeAll(() => need('dose-distcheck', 'python3-solv', 'apt-utils'))
afterAll(() => rmSync(directory, { recursive: true }))

function run(program: string, args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (error) throw error
  // dose-debcheck exits with 1 when it finds something.
  if (status === null || status > 1) throw new Error(`${program} ended with ${status}: ${stderr.slice(-2000)}`)
  return stdout
}

/** `name version` of each package that cannot be installed, sorted. */
function impossibleOf(format: UniverseFormat, reach: Reach, packages: readonly UniversePackage[]): string[] {
  const universe = createUniverse(format, reach)
  const all = packages.map((one) => universe.add(one))
  const result = universe.check(all)
  expect(all.filter((index) => result.answerOf(index) === 'undecided')).toEqual([])
  const impossible = all.filter((index) => result.answerOf(index) === 'impossible')
  for (const index of impossible.slice(0, 200))
    expect(result.explain(index)[0]?.package).toEqual(universe.identityOf(index))
  return impossible.map((index) => shown(universe.identityOf(index))).sort()
}

function ours(index: string): { impossible: string[]; total: number } {
  const packages = index
    .split('\n\n')
    .filter((stanza) => stanza.trim() !== '')
    .map((stanza) => factsOf(parseControl(`${stanza}\n`)))
  return { impossible: impossibleOf(debFormat, { own: ['amd64'], neutral: ['all'] }, packages), total: packages.length }
}

const shown = ({ name, version }: { name: string; version: string }) => `${name} ${version}`

/** https://manpages.debian.org/bookworm/dose-distcheck/dose-debcheck.1.en.html */
function dose(path: string): string[] {
  const out = run('dose-debcheck', ['--failures', '--deb-native-arch=amd64', '--deb-ignore-essential', path])
  return [...out.matchAll(/^ {2}package: (\S+)\n {2}version: (\S+)/gm)]
    .map(([, name, version]) => `${name} ${version}`)
    .sort()
}

const DEB_OPERATORS = { '<': '<<', '<=': '<=', '=': '=', '>=': '>=', '>': '>>' }
const debRelation = ({ name, op, version }: RandomRelation) => (op ? `${name} (${DEB_OPERATORS[op]} ${version})` : name)

function debStanza({ name, version, needs, excludes, provides }: RandomPackage, at: number): string {
  const field = (label: string, items: string[]) => (items.length > 0 ? `${label}: ${items.join(', ')}\n` : '')
  const halves = [excludes.filter((_, i) => (at + i) % 2 === 0), excludes.filter((_, i) => (at + i) % 2 === 1)] as const
  return (
    `Package: ${name}\nVersion: ${version}\nArchitecture: amd64\nMaintainer: a\nDescription: a\nFilename: ${at}.deb\nSize: 1\n` +
    field(
      'Depends',
      needs.map((any) => any.map(debRelation).join(' | ')),
    ) +
    field('Conflicts', halves[0].map(debRelation)) +
    field('Breaks', halves[1].map(debRelation)) +
    field(
      'Provides',
      provides.map((one) => (one.version ? `${one.name} (= ${one.version})` : one.name)),
    )
  )
}

describe('deb', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('agrees with dose-debcheck on generated repository %i', (seed) => {
    const text = generate(seed, 1200).map(debStanza).join('\n')
    const path = join(directory, `Packages-${seed}`)
    writeFileSync(path, text)
    const { impossible, total } = ours(text)
    expect(impossible).toEqual(dose(path))
    // The comparison is only meaningful if both answers are frequent.
    expect(impossible.length).toBeGreaterThan(total / 20)
    expect(impossible.length).toBeLessThan(total * 0.9)
  })
  /**
   * apt takes the newest version of each name and usually the first alternative, and never goes back. Where it finds
   * nothing, the same apt confirms the installation found here when all its packages are named. It never finds an
   * installation that does not exist according to this search.
   */
  test('differs from apt only where apt does not search', async () => {
    const text = generate(11, 160).map(debStanza).join('\n')
    const path = join(directory, 'flat')
    mkdirSync(path)
    writeFileSync(join(path, 'Packages'), text)
    const facts = text.split('\n\n').map((stanza) => factsOf(parseControl(`${stanza.trim()}\n`)))
    const universe = createUniverse(debFormat, { own: ['amd64'], neutral: ['all'] })
    const all = facts.map((one) => universe.add(one))
    const result = universe.check(all)
    const impossible = all.filter((index) => result.answerOf(index) === 'impossible')
    expect(impossible.map((index) => shown(universe.identityOf(index))).sort()).toEqual(dose(join(path, 'Packages')))

    const newest = new Map<string, string>()
    for (const { name, version } of facts) if (version > (newest.get(name) ?? '')) newest.set(name, version)
    const pinned = (index: number) => `${universe.identityOf(index).name}=${universe.identityOf(index).version}`
    const apt = await aptWith(path)
    try {
      const differing: Record<string, string[]> = {}
      const left = all.values()
      const ask = async () => {
        for (const index of left) {
          const isPossible = result.answerOf(index) === 'possible'
          if ((await apt.canInstall([pinned(index)])) === isPossible) continue
          const installation = result.installationOf(index) ?? []
          const isOlder = installation.some((one) => {
            const { name, version } = universe.identityOf(one)
            return one !== index && version !== newest.get(name)
          })
          const reason = !isPossible
            ? 'apt installs what cannot be'
            : !(await apt.canInstall(installation.map(pinned)))
              ? 'apt refuses what was found'
              : isOlder
                ? 'apt takes no older version of what is needed'
                : 'apt does not go back on an alternative'
          ;(differing[reason] ??= []).push(pinned(index))
        }
      }
      await Promise.all([ask(), ask(), ask()])
      expect(Object.keys(differing)).toEqual(['apt takes no older version of what is needed'])
      // Both solvers find most existing installations, and a good part of the packages has none.
      expect(Object.values(differing).flat().length).toBeLessThan(all.length / 4)
      expect(impossible.length).toBeGreaterThan(all.length / 20)
    } finally {
      await apt.remove()
    }
  })

  // Every fifth package is missing, so that thousands of real dependencies fail.
  test('agrees with dose-debcheck on four fifths of the Debian release of this machine', () => {
    const stanzas = debianIndex()
      .split('\n\n')
      .filter((stanza, at) => stanza.trim() !== '' && at % 5 !== 0)
    const path = join(directory, 'Packages-debian')
    writeFileSync(path, `${stanzas.join('\n\n')}\n`)
    const { impossible, total } = ours(stanzas.join('\n\n'))
    expect(total).toBeGreaterThan(40_000)
    expect(impossible.length).toBeGreaterThan(1000)
    expect(impossible).toEqual(dose(path))
  })
})

/** apt with an empty dpkg database, reading a directory with an index: shows what it would install. */
async function aptWith(repository: string) {
  const root = await createAptRoot({ url: `file:${repository}`, suite: './', key: '' })
  writeFileSync(
    join(root.directory, 'etc/apt/sources.list.d/repository.sources'),
    `Types: deb\nURIs: file:${repository}\nSuites: ./\nTrusted: yes\n`,
  )
  const { code, text } = await root.run('apt-get', '-o', 'Acquire::AllowInsecureRepositories=true', 'update')
  if (code !== 0) throw new Error(`apt-get update ended with ${code}: ${text}`)
  return {
    canInstall: async (wanted: readonly string[]) =>
      (await root.run('apt-get', '--simulate', '--no-install-recommends', '--yes', 'install', ...wanted)).code === 0,
    remove: () => root.remove(),
  }
}

const RPM_FLAGS = { '<': 'LT', '<=': 'LE', '=': 'EQ', '>=': 'GE', '>': 'GT' }
const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')

function rpmEntry({ name, op, version }: RandomRelation): string {
  const bound = op ? ` flags="${RPM_FLAGS[op]}" epoch="0" ver="${version}"` : ''
  return `<rpm:entry name="${escaped(name)}"${bound}/>`
}

/** Relations with alternatives become boolean dependencies, and some of the others become one of each kind. */
function rpmNeed(any: readonly RandomRelation[], at: number): RandomRelation {
  const text = ({ name, op, version }: RandomRelation) => (op ? `${name} ${op} ${version}` : name)
  const [a, b, c] = any.map(text)
  if (b === undefined) return any[0]!
  if (c === undefined)
    return {
      name: [`(${a} or ${b})`, `(${a} if ${b})`, `(${a} with ${b})`, `(${a} without ${b})`, `(${a} and ${b})`][at % 5]!,
    }
  return { name: [`(${a} or (${b} and ${c}))`, `(${a} if ${b} else ${c})`, `((${a} or ${b}) if ${c})`][at % 3]! }
}

/** Two Conflicts of a package become one boolean one. */
function rpmConflicts(list: readonly RandomRelation[], at: number): RandomRelation[] {
  const [a, b] = list.map(({ name, op, version }) => (op ? `${name} ${op} ${version}` : name))
  if (b === undefined) return [...list]
  return [{ name: [`(${a} unless ${b})`, `(${a} and ${b})`, `(${a} or ${b})`, `(${a} with ${b})`][at % 4]! }]
}

/** Some exclusions are Obsoletes. */
function rpmPackage({ name, version, needs, excludes, provides }: RandomPackage, at: number): string {
  const list = (kind: string, entries: readonly RandomRelation[]) =>
    entries.length === 0 ? '' : `<rpm:${kind}>${entries.map(rpmEntry).join('')}</rpm:${kind}>`
  const own: RandomRelation = { name, op: '=', version }
  const offered = provides.map((one): RandomRelation => (one.version ? { ...one, op: '=' } : { name: one.name }))
  return `<package type="rpm"><name>${name}</name><arch>noarch</arch><version epoch="0" ver="${version}" rel="1"/>
<checksum type="sha256" pkgid="YES">${String(at).padStart(64, '0')}</checksum><summary>a</summary><description>a</description>
<packager/><url/><time file="1" build="1"/><size package="1" installed="1" archive="1"/><location href="${at}.rpm"/>
<format><rpm:license>MIT</rpm:license><rpm:sourcerpm>${name}-${version}-1.src.rpm</rpm:sourcerpm>
${list('provides', [{ ...own, version: `${version}-1` }, ...offered])}${list('requires', needs.map(rpmNeed))}
${list(
  'conflicts',
  rpmConflicts(
    excludes.filter((_, i) => at % 2 === 0 || (at + i) % 3 !== 0),
    at,
  ),
)}${list(
    'obsoletes',
    excludes.filter((_, i) => at % 2 === 1 && (at + i) % 3 === 0),
  )}
</format></package>`
}

function primaryOf(packages: readonly RandomPackage[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm" packages="${packages.length}">
${packages.map(rpmPackage).join('\n')}
</metadata>
`
}

describe('rpm', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('agrees with libsolv on generated repository %i', (seed) => {
    const primary = primaryOf(generate(seed, 1200))
    const path = join(directory, `${seed}-primary.xml`)
    writeFileSync(path, primary)
    const packages: UniversePackage[] = []
    const reader = createXmlReader(
      path,
      createPrimaryHandler(path, (item) => {
        if ('unreadable' in item) throw new Error(item.unreadable)
        packages.push(item)
      }),
    )
    reader.write(primary)
    reader.end()
    const impossible = impossibleOf(rpmFormat, { own: ['x86_64'], neutral: ['noarch'] }, packages)
    const theirs = run('/usr/bin/python3', [join(import.meta.dirname, 'libsolv.py'), path])
      .trim()
      .split('\n')
    expect(impossible).toEqual(theirs.sort())
    expect(impossible.length).toBeGreaterThan(packages.length / 20)
    expect(impossible.length).toBeLessThan(packages.length * 0.95)
  })
})

/**
 * The fields of .PKGINFO that an index record also has. apk has no alternatives, so the first one counts. Only in apko does a
 * package that provides a name twice conflict with itself, so no package does.
 */
function apkRelations({ needs, excludes, provides }: RandomPackage): { depend: string[]; provides: string[] } {
  const text = ({ name, op, version }: RandomRelation) => (op ? `${name}${op}${version}-r0` : name)
  return {
    depend: [...needs.map((any) => text(any[0]!)), ...excludes.map((one) => `!${text(one)}`)],
    provides: provides
      .filter(({ name }, at) => provides.findIndex((one) => one.name === name) === at)
      .map((one) => (one.version ? `${one.name}=${one.version}-r0` : one.name)),
  }
}

function apkRecord(one: RandomPackage, at: number): string {
  const { depend, provides } = apkRelations(one)
  const checksum = createHash('sha1').update(String(at)).digest('base64')
  return (
    `C:Q1${checksum}\nP:${one.name}\nV:${one.version}-r0\nA:x86_64\nS:1\nI:1\nT:a\nU:a\nL:MIT\n` +
    (depend.length > 0 ? `D:${depend.join(' ')}\n` : '') +
    (provides.length > 0 ? `p:${provides.join(' ')}\n` : '') +
    '\n'
  )
}

/** @returns a function that asks apko whether these packages, each `name=version`, can be installed together */
function apkoWith(apko: string, packages: readonly RandomPackage[]): (wanted: readonly string[]) => boolean {
  const repository = mkdtempSync(join(directory, 'apk-'))
  mkdirSync(join(repository, 'x86_64'))
  const { publicKey: pem, privateKey: privatePem } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const key = join(repository, 'test.rsa.pub')
  writeFileSync(key, pem)
  const index = buildIndex(packages.map(apkRecord).join(''), { name: 'test.rsa.pub', privatePem, pem })
  writeFileSync(join(repository, 'x86_64', 'APKINDEX.tar.gz'), index)
  const config = join(repository, 'apko.yaml')
  return (wanted) => {
    writeFileSync(
      config,
      JSON.stringify({ contents: { repositories: [repository], packages: wanted }, archs: ['x86_64'] }),
    )
    return spawnSync(apko, ['show-packages', '--log-level', 'error', '-k', key, config]).status === 0
  }
}

describe('apk', () => {
  let apko: string
  beforeAll(() => {
    apko = execFileSync(join(import.meta.dirname, '../../clients/apko.sh'), { encoding: 'utf8' }).trim()
  })

  test.each([1, 2, 3])('differs from apko on generated repository %i only where it is known to', (seed) => {
    const packages = generate(seed, 250)
    const facts = packages.map((one): UniversePackage => {
      const { depend, provides } = apkRelations(one)
      const fields: PkginfoField[] = [
        ...depend.map((text): PkginfoField => ['depend', text]),
        ...provides.map((text): PkginfoField => ['provides', text]),
      ]
      const stated = { requirements: parseRequirements(fields), provides: parseProvides(fields) }
      return { name: one.name, version: `${one.version}-r0`, arch: 'x86_64', ...stated }
    })
    const universe = createUniverse(apkFormat, { own: ['x86_64'], neutral: ['noarch'] })
    const all = facts.map((one) => universe.add(one))
    const result = universe.check(all)
    const canInstall = apkoWith(apko, packages)
    const pinned = (index: number) => `${universe.identityOf(index).name}=${universe.identityOf(index).version}`
    const disagreed: string[] = []
    const unconfirmed: string[] = []
    for (const index of all) {
      const isPossible = result.answerOf(index) === 'possible'
      if (canInstall([pinned(index)]) === isPossible) continue
      disagreed.push(pinned(index))
      const installation = result.installationOf(index)
      if (!installation || !canInstall(installation.map(pinned))) unconfirmed.push(pinned(index))
    }
    // apko takes the best provider of each name and never goes back, so it misses installations. Given all packages of one that
    // this search found, it agrees. It never finds an installation that does not exist according to this search.
    expect(unconfirmed).toEqual([])
    expect(disagreed.length).toBeLessThan(all.length / 5)
  })
})

/** The largest package index that this machine's apt has downloaded. */
function debianIndex(): string {
  const paths = execFileSync('apt-get', ['indextargets', '--format', '$(FILENAME)', 'Created-By: Packages'], {
    encoding: 'utf8',
  })
  const size = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const [largest] = paths
    .split('\n')
    .filter((path) => path !== '')
    .sort((a, b) => size(b) - size(a))
  if (!largest || size(largest) === 0) throw new Error('apt of this machine has no lists: run apt-get update')
  return run('/usr/lib/apt/apt-helper', ['cat-file', largest])
}
