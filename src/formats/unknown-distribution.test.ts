import { expect, test } from 'vitest'
import { formats } from './index.ts'
import { meantBy, unknownDistribution } from './unknown-distribution.ts'

const known = formats.flatMap((format) => format.distributions)

test.each([
  ['Bookworm', ['bookworm']],
  ['debian-12', ['bookworm']],
  ['debian:12', ['bookworm']],
  ['ubuntu 22.04', ['jammy']],
  ['bokworm', ['bookworm']],
  ['alpine-3.20', ['alpine3.20']],
  ['', []],
  ['windows', []],
  ['x'.repeat(100_000), []],
])('%s suggests %j', (text, codenames) => {
  expect(meantBy(text, known)).toEqual(codenames)
})

test('a codename that resembles none is answered with all of them', () => {
  const { detail } = unknownDistribution('windows', known, 'unknown_distribution')
  for (const { codename } of known) expect(detail).toContain(codename)
})

test('a long codename does not make a long answer', () => {
  expect(unknownDistribution('x'.repeat(100_000), known, 'not_found').detail.length).toBeLessThan(1_000)
})
