import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import semver from 'semver'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildNpm, type SampleNpm } from '../../../test/samples/npm.ts'
import { factsToMatch, type PackageFacts } from '../../domain/package.ts'
import { BASE_IN_JSON, type ListedFile, type Listing } from '../registry-format.ts'
import { npmFormat } from './index.ts'
import { isNewName } from './names.ts'
import type { NpmRecord } from './read.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'npm-format-'))
})
afterAll(() => rm(directory, { recursive: true }))

async function read(file: SampleNpm | Uint8Array, maxUnpackedBytes?: number) {
  const path = join(directory, 'package.tgz')
  await writeFile(path, file instanceof Uint8Array ? file : await buildNpm(file))
  return npmFormat.read(path, maxUnpackedBytes === undefined ? {} : { maxUnpackedBytes })
}

describe('a tarball', () => {
  test('as npm pack makes it states its facts', async () => {
    const manifest = {
      ...{
        name: '@team/tool',
        version: '1.2.3',
        description: 'A tool',
        license: 'MIT',
        author: 'Ada <ada@example.org>',
      },
      ...{
        bin: 'cli.js',
        dependencies: { other: '^1.0.0' },
        scripts: { postinstall: 'true' },
        homepage: 'https://x.test',
        files: ['cli.js'],
      },
    }
    await writeFile(join(directory, 'package.json'), JSON.stringify(manifest))
    await writeFile(join(directory, 'cli.js'), '#!/usr/bin/env node\n')
    await writeFile(join(directory, 'README.md'), '# Tool\n')
    const env = { PATH: process.env['PATH'], HOME: directory }
    execFileSync('npm', ['pack', '--ignore-scripts'], { cwd: directory, env, stdio: 'ignore' })
    const facts = await read(await readFile(join(directory, 'team-tool-1.2.3.tgz')))
    expect(facts).toMatchObject({
      ...{ format: 'npm', name: '@team/tool', version: '1.2.3', arch: 'any', license: 'MIT', description: 'A tool' },
      ...{ maintainer: 'Ada <ada@example.org>', url: 'https://x.test' },
      record: {
        ...{ hasInstallScript: true, hasShrinkwrap: false, fileCount: 3, readme: '# Tool\n' },
        manifest: { bin: { tool: 'cli.js' }, dependencies: { other: '^1.0.0' } },
      },
    })
    expect(facts.files.sort()).toEqual(['README.md', 'cli.js', 'package.json'])
    expect(npmFormat.filename(facts)).toBe('tool-1.2.3.tgz')
  })

  test.each<[string, SampleNpm, object]>([
    ['with another directory', { directory: 'lib-main' }, { name: 'lib' }],
    ['with v and build metadata', { version: 'v1.0.0+build.5' }, { version: '1.0.0' }],
    ['with binding.gyp', { files: { 'binding.gyp': '{}' } }, { record: { hasInstallScript: true } }],
    [
      'with gypfile',
      { files: { 'binding.gyp': '{}' }, fields: { gypfile: false } },
      { record: { hasInstallScript: false } },
    ],
    ['with old licenses', { fields: { licenses: [{ type: 'MIT' }, { type: 'BSD' }] } }, { license: 'MIT OR BSD' }],
    ['with a directory entry', { entries: [{ name: 'package/', type: 'directory' }] }, { name: 'lib' }],
  ])('%s is read', async (_, sample, facts) => {
    expect(await read(sample)).toMatchObject(facts)
  })

  test('loses what no client could rely on', async () => {
    const fields = {
      ...{ _id: 'x', dist: { tarball: 'https://evil.test' }, deprecated: 'no', dependencies: ['a'], engines: 'node' },
      ...{ bundledDependencies: ['b'], scripts: { test: 1, build: 'x' }, os: 'linux' },
    }
    const { manifest } = (await read({ fields })).record
    expect(JSON.parse(JSON.stringify(manifest))).toEqual({
      ...{ name: 'lib', version: '1.0.0', bundleDependencies: ['b'], scripts: { build: 'x' }, os: ['linux'] },
    })
  })

  test.each<[string, SampleNpm]>([
    ['a second package.json in another directory', { entries: [{ name: 'other/package.json', content: '{}' }] }],
    ['a package.json in other case', { files: { 'Package.json': '{}' } }],
    ['a path with ..', { entries: [{ name: 'package/../../x' }] }],
    ['a path with .', { entries: [{ name: './package/x' }] }],
    ['an absolute path', { entries: [{ name: '/package/x' }] }],
    ['a backslash', { entries: [{ name: 'package/..\\x' }] }],
    ['a drive', { entries: [{ name: 'C:/x' }] }],
    ['a file outside of its directory', { entries: [{ name: 'package.json', content: '{}' }] }],
    ['a symbolic link', { entries: [{ name: 'package/x', type: 'symlink', linkname: '/etc' }] }],
    ['a hard link', { entries: [{ name: 'package/x', type: 'link', linkname: 'package/package.json' }] }],
    ['a name that leads elsewhere', { name: '../x' }],
    ['a name with a space', { name: 'a b' }],
    ['no version', { version: '' }],
    ['a version that is a range', { version: '1.x' }],
    ['a NUL', { fields: { description: 'a\0b' } }],
    ['deep values', { fields: { x: JSON.parse('['.repeat(50) + ']'.repeat(50)) as unknown } }],
    ['many values', { fields: { x: Array.from({ length: 30_000 }, () => 0) } }],
    ['a large package.json', { fields: { x: 'x'.repeat(600_000) } }],
    ['a long version', { version: `1.0.0-${'a'.repeat(230)}` }],
  ])('with %s is refused', async (_, sample) => {
    await expect(read(sample)).rejects.toMatchObject({ code: 'invalid_package' })
  })

  test.each<[string, () => Promise<Uint8Array> | Uint8Array]>([
    ['that is no gzip', () => Buffer.from('no')],
    ['that is no tar', () => gzipSync('no')],
    ['without package.json', () => gzipSync(Buffer.alloc(1024))],
    ['that is cut off', async () => (await buildNpm()).subarray(0, -20)],
    ['with something behind it', async () => Buffer.concat([await buildNpm(), Buffer.from('more')])],
  ])('%s is refused', async (_, bytes) => {
    await expect(read(await bytes())).rejects.toMatchObject({ code: 'invalid_package' })
  })

  test('beyond a limit is refused', async () => {
    await expect(read({ files: { x: 'x'.repeat(100_000) } }, 50_000)).rejects.toMatchObject({ code: 'invalid_package' })
  })
})

test.each([
  ['lib', true, true],
  ['@team/lib', true, true],
  ['lib.js', true, true],
  ['JSONStream', true, false],
  ['~old', true, false],
  ['.hidden', false, false],
  ['-dash', false, false],
  ['a/b', false, false],
  ['@team', false, false],
  ['@team/', false, false],
  ['@/lib', false, false],
  ['@a/b/c', false, false],
  ['..', false, false],
  ['node_modules', false, false],
  ['__proto__', true, false],
  ['a%2fb', false, false],
  ['é', false, false],
  ['a'.repeat(215), false, false],
])('the name %s: known %s, for a new package %s', (name, known, fresh) => {
  expect([npmFormat.canonicalName(name) === name, isNewName(name)]).toEqual([known, fresh])
})

test.each([
  ['left/-/left-1.0.0.tgz', { name: 'left', filename: 'left-1.0.0.tgz' }],
  ['@team/left/-/left-1.0.0.tgz', { name: '@team/left', filename: 'left-1.0.0.tgz' }],
  ['left', null],
  ['-/package/left/dist-tags', null],
])('the path %s is of %j', (path, file) => expect(npmFormat.fileAt(path)).toEqual(file))

describe('the documents', () => {
  const fileOf = (version: string, more: Partial<ListedFile<NpmRecord>> = {}): ListedFile<NpmRecord> => ({
    ...{ version, arch: 'any', filename: `lib-${version}.tgz`, sizeBytes: 1, addedAt: new Date(0), held: null },
    digests: { sha256: 'aa', sha512: '00ff', sha1: 'bb', md5: 'cc' },
    facts: {
      ...factsToMatch({
        format: 'npm',
        name: '@s/lib',
        version,
        arch: 'any',
        sourcePackage: null,
        sourceVersion: null,
      }),
      record: {
        manifest: { name: '@s/lib', version, dependencies: { a: '1' }, scripts: { x: 'y' }, license: 'MIT' },
        ...{ hasInstallScript: false, hasShrinkwrap: false, fileCount: 1, unpackedBytes: 1, readme: null },
      },
    },
    ...more,
  })
  const waits = { reason: 'it waits', isListed: true }
  const refused = { reason: 'it was rejected', isListed: false }
  const documentsOf = (files: ListedFile<NpmRecord>[], more: Partial<Listing<NpmRecord>> = {}) => {
    const made = npmFormat.documents({ name: '@s/lib', files, tags: {}, notes: {}, modifiedAt: new Date(1), ...more })
    return Array.from(made, ({ text }) => JSON.parse(text) as Record<string, any>)
  }

  test.each<[string, string[], Record<string, string>, object]>([
    ['the newest stable one without a tag', ['1.0.0', '2.0.0', '3.0.0-rc'], {}, { latest: '2.0.0' }],
    ['a prerelease if there is nothing else', ['1.0.0-a', '1.0.0-b'], {}, { latest: '1.0.0-b' }],
    ['the tagged one', ['1.0.0', '2.0.0'], { latest: '1.0.0', x: '2.0.0' }, { latest: '1.0.0', x: '2.0.0' }],
    ['not one that is gone', ['1.0.0'], { latest: '2.0.0', next: '2.0.0' }, { latest: '1.0.0' }],
    ['not one that is held', ['1.0.0', '!2.0.0'], { latest: '2.0.0' }, { latest: '1.0.0' }],
    ['nothing if all are held', ['!2.0.0'], { latest: '2.0.0' }, {}],
  ])('have as latest %s', (_, versions, tags, expected) => {
    const files = versions.map((one) => fileOf(one.replace('!', ''), one.startsWith('!') ? { held: waits } : {}))
    for (const document of documentsOf(files, { tags })) expect(document['dist-tags']).toEqual(expected)
  })

  test('differ in what they have of a version', () => {
    const [full, short] = documentsOf([fileOf('1.0.0')], { notes: { '1.0.0': { deprecated: 'old' } } })
    const dist = { integrity: 'sha512-AP8=', shasum: 'bb', tarball: expect.stringContaining('/@s/lib/-/lib-1.0.0.tgz') }
    const common = { name: '@s/lib', version: '1.0.0', dependencies: { a: '1' }, deprecated: 'old', dist }
    expect(full!['versions']['1.0.0']).toMatchObject({
      ...common,
      scripts: { x: 'y' },
      license: 'MIT',
      _id: '@s/lib@1.0.0',
    })
    expect(short!['versions']['1.0.0']).toMatchObject(common)
    expect(Object.keys(short!['versions']['1.0.0']).sort()).toEqual([
      'dependencies',
      'deprecated',
      'dist',
      'name',
      'version',
    ])
  })

  test('tell why versions are held, and nothing of what was refused', () => {
    const files = [fileOf('1.0.0'), fileOf('1.1.0', { held: waits }), fileOf('1.2.0', { held: refused })]
    for (const { policyRestrictions, versions, time } of documentsOf(files)) {
      expect(policyRestrictions).toEqual({
        message: '@s/lib@1.1.0: it waits',
        versions: { '1.1.0': { name: '@s/lib', version: '1.1.0' } },
      })
      expect([Object.keys(versions), '1.2.0' in time]).toEqual([['1.0.0'], false])
    }
    expect(documentsOf([fileOf('1.2.0', { held: refused })])).toEqual([])
  })

  test('have the address in one place of each version', () => {
    const [full] = npmFormat.documents({
      name: 'lib',
      files: [fileOf('1.0.0')],
      tags: {},
      notes: {},
      modifiedAt: new Date(1),
    })
    expect(full!.text.split(BASE_IN_JSON)).toHaveLength(2)
  })
})

test.each([
  ['1.0.0', true],
  ['1.0.0-rc.1', true],
  ['v1.0.0', false],
  ['1.0.0+x', false],
  ['1.0', false],
])('the version %s is valid: %s', (version, valid) => expect(npmFormat.versions.isValid(version)).toBe(valid))

test('versions are ordered as semver orders them', () => {
  const sorted = ['1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-beta', '1.0.0', '1.0.1', '1.10.0', '2.0.0']
  expect([...sorted].reverse().sort(npmFormat.versions.compare)).toEqual(sorted)
  expect([...sorted].reverse().sort(semver.compare)).toEqual(sorted)
})

test.each<[unknown, string | null]>([
  [{ type: 'git', url: 'git+https://github.com/acme/lib.git' }, 'https://github.com/acme/lib'],
  ['git+ssh://git@github.com/acme/lib.git', 'https://github.com/acme/lib'],
  ['git@github.com:acme/lib.git', 'https://github.com/acme/lib'],
  ['git://github.com/acme/lib#main', 'https://github.com/acme/lib'],
  ['https://gitlab.com/group/sub/lib/', 'https://gitlab.com/group/sub/lib'],
  ['acme/lib', 'https://github.com/acme/lib'],
  ['gitlab:acme/lib', 'https://gitlab.com/acme/lib'],
  ['somewhere', null],
  [{ url: 7 }, null],
  [undefined, null],
])('the repository %j is %s', (repository, expected) => {
  const manifest = { name: 'lib', version: '1.0.0', repository }
  expect(npmFormat.attestations.repositoryOf!({ record: { manifest } } as unknown as PackageFacts<NpmRecord>)).toBe(
    expected,
  )
})
