// What can be installed, compared with solvers of others: dose-debcheck decides the same question for deb, exactly.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseControl } from '../../../src/formats/deb/control.ts'
import { debFormat } from '../../../src/formats/deb/index.ts'
import { factsOf } from '../../../src/formats/deb/read.ts'
import { createUniverse } from '../../../src/formats/installation/universe.ts'
import { need } from '../../need.ts'
import { generate, type RandomPackage, type RandomRelation } from './generate.ts'

const directory = mkdtempSync(join(tmpdir(), 'solver-'))
beforeAll(() => need('dose-distcheck', 'libsolv-tools', 'apt-utils'))
afterAll(() => rmSync(directory, { recursive: true }))

function run(program: string, args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (error) throw error
  // dose-debcheck exits with 1 when it finds something.
  if (status === null || status > 1) throw new Error(`${program} ended with ${status}: ${stderr.slice(-2000)}`)
  return stdout
}

/** `name version` of each package of an index that cannot be installed, sorted. */
function ours(packages: string): { impossible: string[]; total: number } {
  const universe = createUniverse(debFormat, { own: ['amd64'], neutral: ['all'] })
  const all = packages
    .split('\n\n')
    .filter((stanza) => stanza.trim() !== '')
    .map((stanza) => universe.add(factsOf(parseControl(`${stanza}\n`))))
  const result = universe.check(all)
  expect(all.filter((index) => result.answerOf(index) === 'undecided')).toEqual([])
  const impossible = all.filter((index) => result.answerOf(index) === 'impossible')
  for (const index of impossible.slice(0, 200))
    expect(result.explain(index)[0]?.package).toEqual(universe.identityOf(index))
  return { impossible: impossible.map((index) => shown(universe.identityOf(index))).sort(), total: all.length }
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
    // The comparison means something only where both answers are frequent.
    expect(impossible.length).toBeGreaterThan(total / 20)
    expect(impossible.length).toBeLessThan(total * 0.9)
  })
  // Every fifth package is missing, so that thousands of real dependencies fail.
  test('agrees with dose-debcheck on four fifths of the Debian release of this machine', { timeout: 400_000 }, () => {
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

/** The largest index of packages that apt of this machine has downloaded. */
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
