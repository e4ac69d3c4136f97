// Reads packages made by nfpm with every format, and compares the order of apk versions with apk-tools where APK_BIN
// names one (several are separated by colons).
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apkFormat } from '../../src/formats/apk/index.ts'
import { debFormat } from '../../src/formats/deb/index.ts'
import type { PackageFormat } from '../../src/formats/format.ts'
import { rpmFormat } from '../../src/formats/rpm/index.ts'

const formats = [debFormat, rpmFormat, apkFormat] as unknown as PackageFormat[]

describe('packages made by nfpm', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nfpm-'))
    await promisify(execFile)(join(import.meta.dirname, '../samples/nfpm.sh'), [directory], { maxBuffer: 2 ** 26 })
  })
  afterAll(() => rm(directory, { recursive: true }))

  it.each([
    ['deb', '1.2.3~rc1-2', 'amd64', { name: 'libc6', op: '>=', version: '2.14' }],
    ['rpm', '1.2.3~rc1-2', 'x86_64', { name: 'glibc', op: '>=', version: '2.14' }],
    ['apk', '1.2.3_rc1-r2', 'x86_64', { name: 'musl', op: '>=', version: '1.2' }],
  ])('the facts and members of %s are read', async (id, version, arch, relation) => {
    const format = formats.find((candidate) => candidate.id === id)!
    const facts = await format.read(join(directory, `sample.${id}`))
    expect(facts).toMatchObject({
      name: 'nfpm-sample',
      version,
      arch,
      license: 'MIT',
      url: 'https://example.org/sample',
    })
    expect(facts.files).toEqual(
      expect.arrayContaining(['etc/nfpm-sample.conf', 'usr/bin/nfpm-sample', 'usr/bin/nfpm-sample-link']),
    )
    const strong = facts.requirements.filter((requirement) => requirement.strong)
    expect(strong.flatMap(({ anyOf }) => anyOf)).toContainEqual(expect.objectContaining(relation))
    expect(facts.provides.map(({ name }) => name)).toContain('virtual-sample')
    const members: string[] = []
    for await (const member of format.members(join(directory, `sample.${id}`))) {
      for await (const _ of member.content);
      members.push(member.name)
    }
    expect(members).toEqual(expect.arrayContaining(['etc/nfpm-sample.conf', 'usr/bin/nfpm-sample']))
  })
})

const programs = (process.env['APK_BIN'] ?? '').split(':').filter((program) => program !== '')

describe.each(programs.length > 0 ? programs : [''])('apk-tools %s', (program) => {
  const random = seeded(20261121)
  const pick = <T>(choices: readonly T[]): T => choices[random(choices.length)]!
  const number = () => pick(['0', '1', '2', '9', '10', '11', '100', '20240101'])
  /** Leaves out versions that apk-tools 2 rejects (hashes) or orders differently from 3 (two numbers that begin with 0). */
  function version(): string {
    let text = number()
    for (let parts = random(3); parts > 0; parts--) text += `.${number()}`
    if (random(4) === 0) text += pick(['a', 'b', 'z'])
    for (let suffixes = random(3); suffixes > 0; suffixes--) {
      text += `_${pick(['alpha', 'beta', 'pre', 'rc', 'cvs', 'svn', 'git', 'hg', 'p'])}${random(3) ? number() : ''}`
    }
    return random(2) ? `${text}-r${number()}` : text
  }

  it.skipIf(program === '')('orders 1,500 pairs of versions as we do', () => {
    const wrong: string[] = []
    for (let round = 0; round < 1500; round++) {
      const a = version()
      // Usually with a common beginning, so that only the rest decides the order.
      const b = random(3)
        ? a.slice(0, 1 + random(a.length)).replace(/[._~-]$|_[a-z]*$|-r?$/, '') +
          pick(['', '.0', 'a', '_p', '_rc1', '-r1'])
        : version()
      if (!apkFormat.versions.isValid(b)) continue
      const { stdout } = spawnSync(program, ['version', '-t', a, b], { encoding: 'utf8' })
      const ours = ['<', '=', '>'][Math.sign(apkFormat.versions.compare(a, b)) + 1]
      if (stdout.trim() !== ours) wrong.push(`${a} ${b}: ${stdout.trim()}, not ${ours}`)
    }
    expect(wrong).toEqual([])
  })
})

function seeded(seed: number): (below: number) => number {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
}
