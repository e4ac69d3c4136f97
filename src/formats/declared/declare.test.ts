import { expect, test } from 'vitest'
import { formats } from '../index.ts'
import { declareDistributions, type Declaration } from './declare.ts'

const declare = (declaration: Partial<Declaration>) =>
  declareDistributions(formats, { names: null, architectures: ['amd64'], file: null, ...declaration })
const withFile = (...distributions: unknown[]) => declare({ names: ['noble'], file: { distributions } })
const ACME = { codename: 'acme-stable', format: 'deb', scanner_distro: 'debian:12' }

test('the default list of distributions is that of the formats', () => {
  const { distributions, faults } = declare({})
  expect(faults).toEqual([])
  expect(distributions).toEqual(formats.flatMap((format) => format.distributions))
})

test('every preset can be named, and fits its format', () => {
  const presets = formats.flatMap((format) => [...format.distributions, ...format.presets])
  const { distributions, faults } = declare({ names: presets.map(({ codename }) => codename) })
  expect(faults).toEqual([])
  expect(new Set(distributions.map(({ codename }) => codename)).size).toBe(presets.length)
  for (const one of distributions) {
    const format = formats.find(({ id }) => id === one.format)!
    expect(format.packageManagers, one.codename).toContain(one.packageManager)
    for (const arch of one.architectures) expect(Object.values(format.architectures), one.codename).toContain(arch)
    expect(one.scannerDistro, one.codename).toMatch(/^[a-z0-9/-]+:[a-z0-9.]+$/)
  }
})

test.each([
  ['deb', 'trixie', ['arm64', 'amd64']],
  ['rpm', 'almalinux10', ['aarch64', 'x86_64']],
  ['apk', 'alpine3.23', ['aarch64', 'x86_64']],
])('SVC_ARCHITECTURES=arm64,amd64 gives %s presets (%s) the architectures %j', (_format, codename, architectures) => {
  const { distributions } = declare({ names: [codename], architectures: ['arm64', 'amd64'] })
  expect(distributions).toMatchObject([{ codename, architectures }])
})

test('an own distribution needs a codename, a format and a scanner id; the rest has defaults', () => {
  const { distributions, faults } = withFile(ACME)
  expect(faults).toEqual([])
  expect(distributions[1]).toEqual({
    codename: 'acme-stable',
    format: 'deb',
    architectures: ['amd64'],
    component: 'main',
    scannerDistro: 'debian:12',
    os: 'debian',
    osVersion: '12',
    name: 'acme-stable',
    fullName: 'acme-stable',
    packageManager: 'apt',
  })
})

test('an entry with the codename of a preset offers that preset with its changes', () => {
  const { distributions, faults } = withFile({
    codename: 'almalinux9',
    architectures: ['arm64', 'x86_64'],
    package_manager: 'zypper',
    full_name: 'Ours',
  })
  expect(faults).toEqual([])
  expect(distributions[1]).toEqual({
    ...formats.flatMap((format) => format.distributions).find(({ codename }) => codename === 'almalinux9'),
    architectures: ['aarch64', 'x86_64'],
    packageManager: 'zypper',
    fullName: 'Ours',
  })
})

test.each<[unknown, RegExp]>([
  [[], /must be an object whose only key is "distributions"/],
  [{ distributions: {} }, /must be an object whose only key/],
  [{ distributions: [], more: 1 }, /must be an object whose only key/],
])('the file %j is refused', (file, fault) => {
  expect(declare({ file }).faults).toEqual([expect.stringMatching(fault)])
})

test.each<[string, unknown, RegExp]>([
  ['a text', 'acme', /distributions\[0\]: must be object/],
  ['no codename', { format: 'deb', scanner_distro: 'debian:12' }, /distributions\[0\].*codename/],
  ['a codename that leaves its directory', { ...ACME, codename: '../x' }, /codename.*pattern/],
  ['a codename like a file beside it', { ...ACME, codename: 'acme.repo' }, /codename.*pattern/],
  ['capitals', { ...ACME, codename: 'Acme' }, /codename.*pattern/],
  ['a format that does not exist', { ...ACME, format: 'msi' }, /format/],
  ['no format', { ...ACME, format: undefined }, /format is required/],
  ['no scanner id', { ...ACME, scanner_distro: undefined }, /scanner_distro is required/],
  ['a scanner id without a release', { ...ACME, scanner_distro: 'debian' }, /scanner_distro.*pattern/],
  ['no architecture', { ...ACME, architectures: [] }, /architectures/],
  ['an architecture twice', { ...ACME, architectures: ['amd64', 'amd64'] }, /architectures/],
  ['an architecture of another format', { ...ACME, architectures: ['x86_64'] }, /architectures must be among amd64, /],
  ['a component of an rpm', { ...ACME, format: 'rpm', component: 'main' }, /component does not exist in rpm/],
  ['a component that hides the pool', { ...ACME, component: 'pool' }, /component must not be pool/],
  ['a program of another format', { ...ACME, package_manager: 'dnf' }, /package_manager must be apt/],
  ["a format that is not the preset's", { codename: 'jammy', format: 'rpm' }, /format is deb for this preset/],
  ['a misspelt key', { ...ACME, fullname: 'x' }, /fullname/],
  ['a name with a line break', { ...ACME, name: 'a\nb' }, /name.*pattern/],
  ['an origin with a line break', { ...ACME, origin: 'a\nSuite: b' }, /origin.*pattern/],
  ['a label that is too long', { ...ACME, label: 'x'.repeat(201) }, /label/],
  ['a description of blanks', { ...ACME, description: '  ' }, /description.*pattern/],
  ['a suite of two words', { ...ACME, suite: 'old stable' }, /suite.*pattern/],
  ['an alias that leaves its directory', { ...ACME, aliases: ['../x'] }, /aliases.*pattern/],
  ['an alias twice', { ...ACME, aliases: ['stable', 'stable'] }, /aliases/],
  ['upgrades of what is automatic', { ...ACME, but_automatic_upgrades: true }, /no effect without not_automatic/],
  ['an origin of an rpm', { ...ACME, format: 'rpm', origin: 'ACME' }, /origin does not exist in rpm/],
  ['an alias of an apk', { ...ACME, format: 'apk', aliases: ['stable'] }, /aliases does not exist in apk/],
  ['its codename as alias', { ...ACME, aliases: ['acme-stable'] }, /the alias acme-stable is the codename/],
  ['the codename of another as alias', { ...ACME, aliases: ['noble'] }, /the alias noble is the codename/],
])('an entry with %s is refused', (_what, entry, fault) => {
  const { faults } = withFile(entry)
  expect(faults).toHaveLength(1)
  expect(faults[0]).toMatch(fault)
})

test('a deb distribution says who made it, and may have further names', () => {
  const { distributions, faults } = withFile({
    ...ACME,
    ...{ origin: 'ACME', label: 'ACME internal', suite: 'stable', description: 'What ACME runs' },
    ...{ not_automatic: true, but_automatic_upgrades: true, aliases: ['stable', 'acme'] },
  })
  expect(faults).toEqual([])
  expect(distributions[1]).toMatchObject({
    release: {
      ...{ origin: 'ACME', label: 'ACME internal', suite: 'stable', description: 'What ACME runs' },
      ...{ notAutomatic: true, butAutomaticUpgrades: true },
    },
    aliases: ['stable', 'acme'],
  })
})

test('an alias leads to one distribution', () => {
  const { faults } = withFile(
    { ...ACME, aliases: ['stable'] },
    { ...ACME, codename: 'acme-next', aliases: ['stable', 'next'] },
  )
  expect(faults).toEqual(['SVC_DISTRIBUTIONS_FILE: acme-next: the alias stable is an alias of acme-stable already'])
})

test('every fault is named at the same time', () => {
  const { faults } = declare({
    names: ['noble', 'warty', 'almalinux99'],
    file: { distributions: [ACME, ACME, { ...ACME, codename: 'B', format: 'x' }] },
  })
  expect(faults).toEqual([
    expect.stringContaining('there is no preset "warty"'),
    expect.stringMatching(/no preset "almalinux99"; did you mean almalinux8 or almalinux9/),
    'SVC_DISTRIBUTIONS_FILE: distributions[1] acme-stable: codename occurs twice',
    expect.stringContaining('distributions[2] "B": codename'),
    expect.stringContaining('distributions[2] "B": format'),
  ])
})

test('a deployment declares at least one distribution', () => {
  expect(declare({ names: [] }).faults).toEqual([
    'SVC_DISTRIBUTIONS and SVC_DISTRIBUTIONS_FILE declare no distribution',
  ])
})
