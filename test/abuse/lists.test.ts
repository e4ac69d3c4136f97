// A list must stay small and fast when the listed packages have long texts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { ENGINES, expectHarmless, startTarget, type Target } from './harness.ts'

const PACKAGES = 60
const READERS = 8
const READS = 3
/** Characters of each description, which compresses to some kilobytes. */
const DESCRIPTION = 4_000_000

describe.each(ENGINES)('with the %s database', (engine) => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget(engine)
  })
  afterAll(() => target.remove())

  test(`${READERS} readers of /artifacts with ${PACKAGES} packages of megabyte descriptions do not block the service`, async () => {
    const measured = await target.measure(async () => {
      for (let n = 0; n < PACKAGES; n++) {
        const file = await buildDeb({
          name: `large-${n}`,
          version: '1.1',
          fields: { Description: `a package\n ${'x'.repeat(DESCRIPTION)}` },
        })
        const { status } = await target.upload(file, 'a.deb', { distribution: 'jammy' })
        expect([201, 400]).toContain(status)
      }
      const answers = await Promise.all(
        Array.from({ length: READERS }, async () => {
          const sizes: number[] = []
          for (let read = 0; read < READS; read++) {
            const { status, body } = await target.call('GET', '/artifacts/?per_page=200')
            expect(status).toBe(200)
            sizes.push(JSON.stringify(body).length)
          }
          return Math.max(...sizes)
        }),
      )
      return Math.max(...answers)
    })
    expect(measured.result).toBeLessThan(1_000_000)
    expectHarmless(`${engine}: ${PACKAGES} packages with megabyte descriptions`, measured)
  })
})
