// What a plan reports of packages while no malware scanner is available.
import { expect, test } from 'vitest'
import type { Settings } from '../../domain/settings.ts'
import { findDistribution } from '../../formats/index.ts'
import type { CveResult } from '../../gate/engines/scanner.ts'
import { previewPolicy } from './policy-preview.ts'
import type { Selected } from './select.ts'

const one: Selected = {
  ...{
    path: 'pool/a.deb',
    name: 'a',
    version: '1',
    arch: 'amd64',
    size_bytes: 1,
    digest_algorithm: 'sha256',
    digest: '',
  },
  ...{ source_package: null, source_version: null },
}
const clean = { result: 'scanned', findings: [], message: '', coverage: {} } as unknown as CveResult

test.each([
  ['hold', true, 'allow', false],
  ['hold', false, 'review', true],
  ['allow', false, 'warn', true],
  ['refuse', false, 'block', true],
] as const)(
  'with on_unscanned %s and a malware scanner: %s, a clean package is %s',
  async (rule, isThere, action, unscanned) => {
    const settings = { validation: { on_unscanned: rule, grype_scan: true }, cve_policy: {} } as unknown as Settings
    const matcher = { scanAll: () => Promise.resolve([clean]) }
    const previews = await previewPolicy(matcher, findDistribution('jammy')!, [one], settings, new Date(), isThere)
    expect(previews).toEqual([{ action, unscanned, findings: 0 }])
  },
)
