import { createRequire } from 'node:module'
import { SPDX } from '@cyclonedx/cyclonedx-library'
import { expect, test } from 'vitest'
import { within } from '../../../test/within.ts'
import { licenseOf } from './license.ts'

test.each([
  ['MIT', 'id'],
  ['  Apache-2.0\n', 'id'],
  ['GPL-2.0', 'id'],
  ['GPL-2.0-or-later AND MIT', 'expression'],
  ['(MIT OR Apache-2.0) AND BSD-3-Clause', 'expression'],
  ['GPL-2.0-only WITH Classpath-exception-2.0', 'expression'],
  ['Apache-1.0+', 'expression'],
  ['GPLv2+', 'name'],
  ['mit', 'name'],
  ['MIT BSD', 'name'],
  ['MIT and BSD', 'name'],
  ['LicenseRef-Fedora-Public-Domain', 'name'],
  ['MIT AND LicenseRef-Callaway-Public-Domain', 'name'],
  ['custom', 'name'],
  ['MIT)', 'name'],
  ['('.repeat(1999), 'name'],
  ['MIT AND '.repeat(100_000) + 'MIT', 'name'],
])('%.60s is %s', (text, kind) => {
  expect(licenseOf(text)).toEqual({ kind, text: text.trim() })
})

test.each([null, undefined, '', ' \n'])('%o is no license', (text) => {
  expect(licenseOf(text)).toBeNull()
})

test.each(['(MIT AND '.repeat(200), 'MIT OR '.repeat(280) + 'MIT', 'MIT WITH '.repeat(200), '((MIT)'.repeat(300)])(
  'the long and nested text %.20s… takes little time',
  async (text) => {
    await within(10_000, () => licenseOf(text))
  },
)

test('CycloneDX knows every license that is written as an id', () => {
  const ids = createRequire(import.meta.url)('spdx-license-ids') as string[]
  expect(ids.length).toBeGreaterThan(500)
  expect(ids.filter((id) => licenseOf(id)?.kind === 'id' && !SPDX.isSupportedSpdxId(id))).toEqual([])
})
