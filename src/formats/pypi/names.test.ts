// Names of projects and files: what they mean, and that no file name means another project.
import { expect, test } from 'vitest'
import { canonicalName, fileAt, filenameOf, means, readFilename } from './names.ts'
import type { PypiFile } from './record.ts'

const ANY: PypiFile = { kind: 'wheel', build: null, python: 'py3', abi: 'none', platform: 'any' }
const LINUX: PypiFile = {
  ...{ kind: 'wheel', build: '1', python: 'cp311', abi: 'cp311' },
  platform: 'manylinux_2_17_x86_64.manylinux2014_x86_64',
}
const SOURCE: PypiFile = { kind: 'sdist', archive: 'tar.gz' }

test.each([
  ['acme-tool', 'acme-tool'],
  ['Acme__Tool', 'acme-tool'],
  ['acme--tool', 'acme-tool'],
  ['acme-._tool', 'acme-tool'],
  ['zope.interface', 'zope-interface'],
  ['a', 'a'],
  ['-acme', null],
  ['acme-', null],
  ['acme tool', null],
  ['acme/tool', null],
  ['ácme', null],
  ['acme\u212a', null],
  ['', null],
  ['a'.repeat(201), null],
])('the project %j is %j', (name, canonical) => expect(canonicalName(name)).toBe(canonical))

test.each([
  ['acme-tool', '1.4.2', ANY, 'acme_tool-1.4.2-py3-none-any.whl'],
  [
    'acme-tool',
    '1!1.0+local.1',
    LINUX,
    'acme_tool-1!1.0+local.1-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl',
  ],
  ['acme-tool', '1.0.post1', SOURCE, 'acme_tool-1.0.post1.tar.gz'],
  ['acme-1', '2', { kind: 'sdist', archive: 'zip' }, 'acme_1-2.zip'],
] as [string, string, PypiFile, string][])(
  '%s %s is in the file %3$s, which says so',
  (name, version, file, filename) => {
    expect(filenameOf(name, version, file)).toBe(filename)
    expect(readFilename(filename)).toEqual({ name, version, file })
  },
)

test('the tags of a wheel have one order', () => {
  const platform = 'manylinux2014_x86_64.manylinux1_x86_64.manylinux_2_17_x86_64'
  const file: PypiFile = { kind: 'wheel', build: null, python: 'py3.py2', abi: 'none', platform }
  expect(filenameOf('acme-tool', '1', file)).toBe(
    'acme_tool-1-py2.py3-none-manylinux_2_17_x86_64.manylinux1_x86_64.manylinux2014_x86_64.whl',
  )
})

test.each([
  ['Acme.Tool-1.4.2-py3-none-any.whl', ANY, true],
  ['acme_tool-01.4.2-py3-none-any.whl', ANY, true],
  ['acme-tool-1.4.2-py3-none-any.whl', ANY, false],
  ['acme_tool-1.4.2-1-py3-none-any.whl', ANY, false],
  ['acme_tool-1.4.2-py2.py3-none-any.whl', ANY, false],
  ['acme_tool-1.4.2-py3-none-any.tar.gz', ANY, false],
  ['acme_tool-1.4.3-py3-none-any.whl', ANY, false],
  ['other-1.4.2-py3-none-any.whl', ANY, false],
  ['acme_tool-1.4.2-1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl', LINUX, true],
  ['acme_tool-1.4.2-1-cp311-cp311-manylinux2014_x86_64.whl', LINUX, false],
  ['acme-tool-1.4.2.tar.gz', SOURCE, true],
  ['acme_tool-1.4.2.zip', SOURCE, false],
  ['acme-tool-1.4-2.tar.gz', SOURCE, false],
  ['../acme_tool-1.4.2.tar.gz', SOURCE, false],
  ['', SOURCE, false],
] as [string, PypiFile, boolean][])('the name %j of a file of acme-tool 1.4.2 fits: %3$j', (stated, file, fits) =>
  expect(means(stated, 'acme-tool', '1.4.2', file)).toBe(fits),
)

test.each([
  ['files/acme-tool/acme_tool-1.0.tar.gz', { name: 'acme-tool', filename: 'acme_tool-1.0.tar.gz' }],
  ['files/Acme_Tool/acme_tool-1.0.tar.gz', { name: 'acme-tool', filename: 'acme_tool-1.0.tar.gz' }],
  ['simple/acme-tool/', null],
  ['files/acme-tool', null],
  ['files/-/x.whl', null],
])('the path %s is of %j', (path, file) => expect(fileAt(path)).toEqual(file))
