// The documents of a project, in both forms.
import { expect, test } from 'vitest'
import type { Listing, ListedFile } from '../registry-format.ts'
import { documents, projectList } from './documents.ts'
import { factsOf, readFields } from './core-metadata.ts'
import type { PypiFile, PypiRecord } from './record.ts'

const ADDED = new Date('2026-11-27T10:00:00.123Z')
const WHEEL: PypiFile = { kind: 'wheel', build: null, python: 'py3', abi: 'none', platform: 'any' }

function fileOf(version: string, more: Partial<ListedFile<PypiRecord>> = {}, file: PypiFile = WHEEL) {
  const text = `Metadata-Version: 2.1\nName: acme-tool\nVersion: ${version}\nRequires-Python: >=3.9, <"4"&\n`
  const metadata = file.kind === 'wheel' ? { text, sha256: 'd1' } : null
  const facts = factsOf(readFields(text, 'METADATA'), { file, files: [], unpackedBytes: 1 }, metadata)
  const digests = { sha256: `sha-${version}`, sha512: '', sha1: '', md5: '' }
  const filename = file.kind === 'wheel' ? `acme_tool-${version}-py3-none-any.whl` : `acme_tool-${version}.tar.gz`
  return { version, arch: facts.arch, filename, sizeBytes: 7, digests, facts, addedAt: ADDED, held: null, ...more }
}

const listing = (files: ListedFile<PypiRecord>[], notes: Listing['notes'] = {}): Listing<PypiRecord> => ({
  ...{ name: 'acme-tool', files, notes, tags: {}, modifiedAt: ADDED },
})

function read(of: Listing<PypiRecord>) {
  const all = documents(of)
  const text = (form: string) => all.find((one) => one.form === form)?.text ?? ''
  return { forms: all.map(({ form }) => form), json: JSON.parse(text('json')), html: text('html') }
}

test('a wheel and a source distribution', () => {
  const { json, html, forms } = read(
    listing([fileOf('1.0+l', {}), fileOf('1.0+l', {}, { kind: 'sdist', archive: 'tar.gz' })]),
  )
  expect(forms).toEqual(['json', 'html'])
  expect(json).toMatchObject({ meta: { 'api-version': '1.4' }, name: 'acme-tool', versions: ['1.0+l'] })
  expect(json.files).toMatchObject([
    {
      ...{ filename: 'acme_tool-1.0+l-py3-none-any.whl', hashes: { sha256: 'sha-1.0+l' }, size: 7, yanked: false },
      url: '../../files/acme-tool/acme_tool-1.0%2Bl-py3-none-any.whl',
      ...{ 'requires-python': '>=3.9, <"4"&', 'upload-time': '2026-11-27T10:00:00.123Z' },
      ...{ 'core-metadata': { sha256: 'd1' }, 'dist-info-metadata': { sha256: 'd1' }, provenance: null },
    },
    { filename: 'acme_tool-1.0+l.tar.gz', 'core-metadata': false },
  ])
  expect(html).toContain(
    '<a href="../../files/acme-tool/acme_tool-1.0%2Bl-py3-none-any.whl#sha256=sha-1.0+l" data-requires-python="&gt;=3.9, &lt;&quot;4&quot;&amp;" data-core-metadata="sha256=d1" data-dist-info-metadata="sha256=d1">acme_tool-1.0+l-py3-none-any.whl</a>',
  )
  expect(html).not.toContain('data-yanked')
})

test.each<[string, Partial<ListedFile<PypiRecord>>, Listing['notes'], boolean | string, string]>([
  ['yanked without a reason', {}, { '1.0': { yanked: '' } }, true, 'data-yanked=""'],
  ['yanked with a reason', {}, { '1.0': { yanked: 'a "b"' } }, 'a "b"', 'data-yanked="a &quot;b&quot;"'],
  [
    'held',
    { held: { reason: 'it waits for a review', isListed: true } },
    { '1.0': { yanked: 'old' } },
    'held: it waits for a review',
    'data-yanked="held: it waits for a review"',
  ],
])('a file that is %s', (_, more, notes, yanked, attribute) => {
  const { json, html } = read(listing([fileOf('1.0', more)], notes))
  expect(json.files[0].yanked).toBe(yanked)
  expect(html).toContain(attribute)
})

test('a refused file is in no document, and neither is its version', () => {
  const refused = { held: { reason: 'it is in quarantine', isListed: false } }
  expect(documents(listing([fileOf('1.0', refused)]))).toEqual([])
  const { json, html } = read(listing([fileOf('1.0', refused), fileOf('2.0')]))
  expect([json.versions, json.files.length, html.includes('1.0')]).toEqual([['2.0'], 1, false])
})

test('attestations are offered for the file they came with, unless it is held', () => {
  const filename = 'acme_tool-1.0-py3-none-any.whl'
  const notes = { '1.0': { attestations: { [filename]: [{ version: 1 }] } } }
  const all = documents(listing([fileOf('1.0'), fileOf('2.0')], notes))
  expect(all.map(({ form }) => form)).toEqual(['json', 'html', `provenance ${filename}`])
  expect(JSON.parse(all[2]!.text)).toEqual({
    version: 1,
    attestation_bundles: [{ publisher: { kind: 'unverified' }, attestations: [{ version: 1 }] }],
  })
  expect(JSON.parse(all[0]!.text).files[0].provenance).toBe(`../../files/acme-tool/${filename}.provenance`)
  const held = { held: { reason: 'x', isListed: true } }
  expect(read(listing([fileOf('1.0', held)], notes)).forms).toEqual(['json', 'html'])
})

test('the list of projects', () => {
  const { json, html } = projectList(['acme-tool', 'b'])
  expect(JSON.parse(json).projects).toEqual([{ name: 'acme-tool' }, { name: 'b' }])
  expect(html).toContain('<a href="acme-tool/">acme-tool</a>')
})
