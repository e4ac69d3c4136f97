// Our dependencies: no known vulnerability is overlooked, and no new licence is accepted unnoticed.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dependencies, unknownLicences, vulnerabilitiesOf, type Dependency } from '../../bin/dependencies.ts'
import { affects, memoryAdvisories, record } from '../../src/gate/engines/osv/advisories.fixture.ts'
import { systemClock } from '../../src/kernel/clock.ts'

let directory: string
beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'gatehouse-audit-'))))
afterAll(() => rm(directory, { recursive: true }))

const used = (name: string) => dependencies().find((each) => each.name === name)!

async function audited(records: Record<string, object[]>, all: readonly Dependency[] = dependencies()) {
  for (const [id, affected] of Object.entries(records))
    await writeFile(join(directory, `${id}.json`), JSON.stringify(record(id, { affected })))
  const found = await vulnerabilitiesOf(memoryAdvisories(systemClock), directory, all)
  for (const id of Object.keys(records)) await rm(join(directory, `${id}.json`))
  return found
}

test('a vulnerability of a package that we use is found, one that its version mends is not', async () => {
  const { version } = used('fastify')
  expect(
    await audited({
      'GHSA-aaaa-aaaa-aaaa': [affects('npm', 'fastify', '999.0.0')],
      'GHSA-bbbb-bbbb-bbbb': [affects('npm', 'fastify', version)],
      'GHSA-cccc-cccc-cccc': [affects('npm', 'not-used-here')],
      'GHSA-dddd-dddd-dddd': [affects('PyPI', 'kysely')],
    }),
  ).toEqual([`fastify ${version}: GHSA-aaaa-aaaa-aaaa, Unknown, fixed in 999.0.0`])
})

test('without advisories for npm nothing is checked, and nothing is called clean', async () => {
  expect(await audited({ 'GHSA-eeee-eeee-eeee': [affects('PyPI', 'fastify')] })).toBeNull()
})

test('every licence of a dependency has been agreed to', () => {
  expect(unknownLicences(dependencies())).toEqual([])
})

test.each<[string, boolean, string | null, boolean]>([
  ['any', false, 'MIT', true],
  ['any', false, '(MPL-2.0 OR Apache-2.0)', true],
  ['any', false, 'MIT AND BSD-3-Clause', true],
  ['any', false, 'MIT AND GPL-2.0', false],
  ['any', false, 'MPL-2.0', false],
  ['any', true, 'MPL-2.0', true],
  ['any', true, 'AGPL-3.0-only', false],
  ['any', false, null, false],
  ['openpgp', false, 'LGPL-3.0+', true],
  ['openpgp', false, 'GPL-3.0', false],
  ['any', false, 'LGPL-3.0+', false],
])('of %s (dev: %s) the licence %s is agreed to: %s', (name, dev, license, agreed) => {
  expect(unknownLicences([{ name, version: '1.0.0', license, dev }])).toEqual(
    agreed ? [] : [`${name} 1.0.0: ${license ?? 'no licence'}`],
  )
})
