import { expect, test } from 'vitest'
import { Problem } from '../domain/problem.ts'
import { createLicense } from './license.ts'

test('the enterprise edition includes every feature', () => {
  const license = createLicense('enterprise')
  expect(license.includes('sbom')).toBe(true)
  expect(() => license.requireFeature('sbom')).not.toThrow()
})

test.each(['sbom', 'ldap', 'a feature nobody listed'])(
  'the community edition refuses %s and says which edition it is',
  (feature) => {
    const license = createLicense('community')
    expect(license.includes(feature)).toBe(false)
    let thrown: unknown
    try {
      license.requireFeature(feature)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(Problem)
    expect(thrown).toMatchObject({ code: 'feature_unavailable', extra: { feature, edition: 'community' } })
  },
)
