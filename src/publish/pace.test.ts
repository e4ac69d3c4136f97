// How long successive publishes wait.
import { expect, test } from 'vitest'
import { createPace } from './pace.ts'
import { MOST } from './tree/superseded.ts'

const MIB = 1024 * 1024

/** Publishes one after another, without a pause. @returns waits in milliseconds, and how long it took */
function publish(count: number, bytes: number, tookMs: number, pace = createPace(), from = 0) {
  let now = from
  const waits: number[] = []
  for (let n = 0; n < count; n++) {
    const wait = pace.wait(now)
    waits.push(wait)
    now += wait + tookMs
    pace.published(bytes, now)
  }
  return { waits, now }
}

test.each([
  ['50 uploads one after another to 10,000 packages', 50, 3.5, 90],
  ['256 small publishes', 256, 0.01, 1],
  ['ten publishes a second of 10,000 small rpm packages, for ever', 5000, 1.5, 100],
])('%s wait for nothing', (_, count, mib, tookMs) => {
  expect(Math.max(...publish(count, mib * MIB, tookMs).waits)).toBe(0)
})

test.each([
  ['10,000 packages', 3.5, 90],
  ['50,000 packages', 17, 220],
  ['very small indexes', 0.01, 5],
])('steady publishes of %s leave an index there for 16 s', (_, mib, tookMs) => {
  const pace = createPace()
  let now = 0
  const written: { at: number; bytes: number }[] = []
  while (now < 120_000) {
    now += pace.wait(now) + tookMs
    pace.published(mib * MIB, now)
    written.push({ at: now, bytes: mib * MIB })
  }
  for (const [n, { at }] of written.entries()) {
    const after = written.slice(n + 1).filter((later) => later.at <= at + 16_000)
    expect(after.length).toBeLessThanOrEqual(MOST.number + 1)
    expect(after.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(MOST.bytes + mib * MIB)
  }
})

test('a publish after a pause waits for nothing, and no publish for more than two seconds', () => {
  const pace = createPace()
  const { waits, now } = publish(20, 340 * MIB, 100, pace)
  expect(waits.at(-1)).toBeGreaterThan(1800)
  expect(Math.max(...waits)).toBeLessThanOrEqual(2000)
  expect(pace.wait(now + 2000)).toBe(0)
})
