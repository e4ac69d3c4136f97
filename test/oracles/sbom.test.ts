// Validates SPDX documents with the SPDX project's library, which also checks licence expressions, references and formats.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDocuments, textOf, type Documents } from '../../src/packages/documents/documents.fixture.ts'
import { decide, finding, insertRecord, need as needs } from '../../src/packages/documents/fixture.ts'
import { need } from '../need.ts'

const VERSION = '0.8.5'
const run = promisify(execFile)

let documents: Documents
let directory: string
let program: string
beforeAll(async () => {
  documents = await openDocuments()
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-sbom-'))
  program = await spdxTools()
  const { db } = documents
  documents.embedded.set('bundle', [
    { type: 'npm', name: '@scope/name', version: '1.0.0', license: 'MIT', path: 'usr/lib/node_modules/name' },
    { type: 'maven', name: 'org.example:thing', version: '2', license: 'Some Licence of its own' },
    { type: 'pypi', name: 'requests', version: null },
  ])
  await insertRecord(db, {
    name: 'base',
    license: 'GPL-2.0-or-later WITH Classpath-exception-2.0',
    maintainer: 'A Team <team@example.org>',
    url: 'https://example.org/base?a=b#c',
  })
  await insertRecord(db, {
    name: 'odd+name',
    version: '1:2.0~rc1+b1-1',
    license: 'GPLv2+ and MIT',
    maintainer: 'Somebody (of a team) <nobody@example.org>',
    url: 'javascript:0',
    description: '"odd"\n\u2028',
  })
  await insertRecord(db, { name: 'silent', distribution: 'alpine3.20', maintainer: '<nobody@example.org>' })
  await insertRecord(db, {
    name: 'MixedCase',
    version: '3:1.0-1.el9',
    distribution: 'almalinux9',
    license: 'ASL 2.0',
    sourcePackage: 'mixed',
    sourceVersion: '1.0-1.el9',
  })
  const row = await insertRecord(db, {
    name: 'bundle',
    requirements: [needs('base', '>=', '1'), needs('libc.so.6()(64bit)'), needs('absent')],
    findings: [finding('CVE-2026-0001')],
  })
  await decide(db, row, 'accept_risk', ['CVE-2026-0001'])
})
afterAll(async () => {
  await documents.close()
  await rm(directory, { recursive: true })
})

/** @returns the problems that the library reports; empty for a valid document */
async function complaints(text: string): Promise<string> {
  const path = join(directory, 'document.spdx.json')
  await writeFile(path, text)
  const { stdout, stderr } = await run(program, ['-i', path, '--version', 'SPDX-2.3']).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  return stdout + stderr
}

test('an export is valid', async () => {
  expect(await complaints(await textOf(await documents.make().ofRepository(undefined, 'spdx')))).toBe('')
})

test.each([
  ['base', '1.0-1'],
  ['odd+name', '1:2.0~rc1+b1-1'],
  ['silent', '1.0-1'],
  ['MixedCase', '3:1.0-1.el9'],
  ['bundle', '1.0-1'],
])('the document of %s is sound', async (name, version) => {
  expect(await complaints(await textOf(await documents.make().ofPackage({ name, version }, 'spdx')))).toBe('')
})

test('an empty document is valid', async () => {
  const text = await textOf(await documents.make().ofRepository('noble', 'spdx'))
  expect(await complaints(text)).toBe('')
})

test('an invalid document is reported', async () => {
  const text = await textOf(await documents.make().ofPackage({ name: 'bundle', version: '1.0-1' }, 'spdx'))
  for (const [what, instead] of [
    ['"DEPENDS_ON"', '"NEEDS"'],
    ['"licenseDeclared":"MIT"', '"licenseDeclared":"mit or so"'],
    ['"SHA1"', '"SHA0"'],
    ['Organization: ', 'Team: '],
  ] as const) {
    const broken = text.replace(what, instead)
    if (broken !== text) expect([what, await complaints(broken)]).toEqual([what, expect.stringMatching(/./)])
  }
})

/** Installs the library in a separate directory, once per version. */
async function spdxTools(): Promise<string> {
  const tools = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse', `spdx-tools-${VERSION}`)
  const path = join(tools, 'bin', 'pyspdxtools')
  if (existsSync(path)) return path
  need('python3-venv')
  const steps = [
    ['/usr/bin/python3', '-m', 'venv', tools],
    [join(tools, 'bin', 'pip'), 'install', '--quiet', `spdx-tools==${VERSION}`],
  ] as [string, ...string[]][]
  for (const [command, ...args] of steps) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
    if (error || status !== 0) throw new Error(`${command} ${args.join(' ')} failed\n${stderr}`)
  }
  return path
}
