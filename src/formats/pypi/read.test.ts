// Wheels and source distributions: what they state, and which are refused.
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildSdist, buildWheel, type SampleWheel } from '../../../test/samples/python.ts'
import type { SampleEntry } from '../../../test/samples/tar.ts'
import { buildZip } from '../../../test/samples/zip.ts'
import { pypiFormat } from './index.ts'

let directory: string
beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'pypi-read-'))))
afterAll(() => rm(directory, { recursive: true }))

async function stored(bytes: Uint8Array): Promise<string> {
  const path = join(directory, 'file')
  await writeFile(path, bytes)
  return path
}
const read = async (bytes: Uint8Array) => pypiFormat.read(await stored(bytes))

describe('a wheel', () => {
  test('states its facts', async () => {
    const facts = await read(
      buildWheel({
        name: 'Acme.Tool',
        version: '1.4.2-beta1',
        stem: 'Acme_Tool-1.4.2_beta1',
        tags: ['py2-none-any', 'py3-none-any'],
        build: '2',
        metadata: [
          ...['Summary: Tools of Acme', 'Requires-Python: >=3.9', 'License: MIT', 'Provides-Extra: fast'],
          ...['Requires-Dist: six>=1.0', 'Requires-Dist: Fast_Lib ; extra == "fast"', 'Author-email: a@acme.test'],
          ...['Project-URL: Homepage, https://acme.test', 'Classifier: Topic :: Utilities'],
        ],
        description: 'Name: not-a-field\n',
      }),
    )
    expect(facts).toMatchObject({
      ...{ format: 'pypi', name: 'acme-tool', version: '1.4.2b1', arch: '2-py2.py3-none-any' },
      ...{ description: 'Tools of Acme', license: 'MIT', maintainer: 'a@acme.test', url: 'https://acme.test' },
      requirements: [
        { text: 'six>=1.0', anyOf: [{ name: 'six' }], strong: false },
        { text: 'Fast_Lib ; extra == "fast"', anyOf: [{ name: 'fast-lib' }] },
      ],
      record: { rawName: 'Acme.Tool', rawVersion: '1.4.2-beta1', requiresPython: '>=3.9', extras: ['fast'] },
    })
    expect(facts.files).toContain('acme_tool/__init__.py')
    expect(pypiFormat.filename(facts)).toBe('acme_tool-1.4.2b1-2-py2.py3-none-any.whl')
    const { metadata } = facts.record as { metadata: { text: string; sha256: string } }
    expect(metadata.text).toMatch(/^Metadata-Version: 2\.1\nName: Acme\.Tool\n/)
    expect(metadata.sha256).toBe(createHash('sha256').update(metadata.text).digest('hex'))
  })

  const evil = (name: string) => [{ name, content: 'x' }]
  test.each<[string, SampleWheel, RegExp]>([
    ['a path that leads out', { files: evil('../evil.py') }, /no path inside/],
    ['an absolute path', { files: evil('/etc/passwd') }, /no path inside/],
    ['a backslash', { files: evil('..\\evil.py') }, /no path inside/],
    ['a drive', { files: evil('C:evil.py') }, /no path inside/],
    ['a file twice', { files: [...evil('a.py'), ...evil('a.py')] }, /twice/],
    ['two describing directories', { files: evil('other-1.dist-info/METADATA') }, /2 directories/],
    ['another name in its directory', { stem: 'other-1.4.2' }, /METADATA says acme-tool/],
    ['another version in its directory', { stem: 'acme_tool-1.4.3' }, /METADATA says acme-tool 1\.4\.2/],
    ['no METADATA', { replace: { METADATA: null } }, /no file .*METADATA/],
    ['no WHEEL', { replace: { WHEEL: null } }, /no file .*WHEEL/],
    ['no RECORD', { replace: { RECORD: null } }, /no file .*RECORD/],
    ['a file that RECORD does not list', { unrecorded: evil('evil.pth') }, /not in RECORD/],
    ['a RECORD without a digest', { replace: { RECORD: 'acme_tool/__init__.py,,\n' } }, /no digest/],
    [
      'a RECORD with another digest',
      { replace: { RECORD: 'acme_tool/__init__.py,sha256=AAAA,1\n' } },
      /another digest/,
    ],
    ['tags of no file name', { tags: ['cp311-cp311-any', 'py3-none-any'] }, /no file name has together/],
    ['a tag with a slash', { tags: ['py3-none-../any'] }, /has the Tag/],
    ['a name of two lines', { metadata: ['Name: other'] }, /field name twice/],
    ['a version twice', { metadata: ['Version: 9'] }, /field version twice/],
    ['a lone carriage return', { metadata: ['Summary: a\rName: other'] }, /carriage return/],
    ['a line that is no field', { metadata: ['what is this'] }, /no field/],
    ['a NUL', { description: '\0' }, /NUL/],
    ['a version that is none', { version: 'latest' }, /expected one of PEP 440/],
    ['a name that is none', { name: '_acme_', stem: 'acme-1.4.2' }, /no project may have/],
  ])('with %s is refused', async (_, sample, sentence) => {
    await expect(read(buildWheel(sample))).rejects.toMatchObject({ code: 'invalid_package', detail: sentence })
  })

  test.each<[string, (wheel: Buffer) => Buffer, RegExp]>([
    ['bytes before', (wheel) => Buffer.concat([Buffer.from('PK\x03\x04 #!/bin/sh\n'), wheel]), /before its first file/],
    ['bytes after', (wheel) => Buffer.concat([wheel, Buffer.from('x')]), /after its end/],
    [
      'another name in its own header',
      (wheel) => patched(wheel, 'acme_tool/__init__.py', 'acme_tool/__evil__.py'),
      /directory says/,
    ],
    ['another size in its own header', (wheel) => changed(wheel, 18), /not what|not where|directory says/],
    ['another checksum in its own header', (wheel) => changed(wheel, 14), /directory says/],
    ['a half', (wheel) => wheel.subarray(0, wheel.length / 2), /zip/],
    [
      'a second archive in front',
      (wheel) => Buffer.concat([buildZip([{ name: 'a.py', content: '' }]), wheel]),
      /before/,
    ],
  ])('with %s is refused', async (_, change, sentence) => {
    await expect(read(change(buildWheel()))).rejects.toMatchObject({ code: 'invalid_package', detail: sentence })
  })

  test('has its files for scanners', async () => {
    const names: string[] = []
    for await (const { name, content } of pypiFormat.members(await stored(buildWheel()))) {
      for await (const _ of content);
      names.push(name)
    }
    expect(names).toContain('acme_tool/__init__.py')
    expect(names).toHaveLength(4)
  })
})

/** The first occurrence only, which is in the local header. */
function patched(bytes: Buffer, from: string, to: string): Buffer {
  const copy = Buffer.from(bytes)
  copy.write(to, copy.indexOf(from), 'latin1')
  return copy
}

function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = copy[at]! ^ 1
  return copy
}

describe('a source distribution', () => {
  test.each([
    ['tar.gz', buildSdist({ name: 'acme.tool', version: '1.4.2' })],
    [
      'zip',
      buildZip([
        { name: 'acme_tool-1.4.2/setup.py', content: '' },
        { name: 'acme_tool-1.4.2/PKG-INFO', content: 'Metadata-Version: 2.1\nName: acme.tool\nVersion: 1.4.2\n' },
      ]),
    ],
  ])('as %s states its facts', async (archive, bytes) => {
    const facts = await read(bytes)
    expect(facts).toMatchObject({ name: 'acme-tool', version: '1.4.2', arch: 'sdist', record: { metadata: null } })
    expect(pypiFormat.filename(facts)).toBe(`acme_tool-1.4.2.${archive}`)
  })

  const root = 'acme_tool-1.4.2'
  test.each<[string, SampleEntry[], RegExp]>([
    ['a path that leads out', [{ name: `${root}/../evil` }], /no path inside/],
    ['an absolute path', [{ name: '/etc/passwd' }], /no path inside/],
    ['a second directory', [{ name: 'other/evil.py' }], /beside its directory/],
    ['a file twice', [{ name: `${root}/a` }, { name: `${root}/a` }], /twice/],
    ['a second PKG-INFO', [{ name: `${root}/PKG-INFO`, content: 'Name: other' }], /twice/],
    ['an absolute link', [{ name: `${root}/a`, type: '2', linkName: '/etc/passwd' }], /leads out/],
    ['a link that leads out', [{ name: `${root}/a`, type: '2', linkName: '../../b' }], /leads out/],
    ['a hard link that leads out', [{ name: `${root}/a`, type: '1', linkName: 'etc/passwd' }], /leads out/],
    ['a device', [{ name: `${root}/a`, type: '3' }], /neither a file/],
  ])('with %s is refused', async (_, more, sentence) => {
    await expect(read(buildSdist({}, more))).rejects.toMatchObject({ code: 'invalid_package', detail: sentence })
  })

  test('may have links inside', async () => {
    const facts = await read(buildSdist({}, [{ name: `${root}/docs/a`, type: '2', linkName: '../pyproject.toml' }]))
    expect(facts.name).toBe('acme-tool')
  })

  test.each([
    ['without PKG-INFO', buildZip([{ name: 'a/b.txt', content: '' }])],
    ['that is cut', buildSdist().subarray(0, 100)],
    ['of another kind', Buffer.from('%PDF-1.7')],
  ])('%s is refused', async (_, bytes) => {
    await expect(read(bytes)).rejects.toMatchObject({ code: 'invalid_package' })
  })
})
