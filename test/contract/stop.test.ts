// A service is asked to stop while an engine never answers.
import { expect, test } from 'vitest'
import type { CveScanner } from '../../src/gate/engines/scanner.ts'
import { buildDeb } from '../samples/deb.ts'
import { startGate } from './harness.ts'

/** systemd, Kubernetes and the documentation allow 90 s; people wait less. */
const LIMIT_MS = 20_000

test('a stop ends in time while the second scanner never answers', { timeout: 120_000 }, async () => {
  let asked!: () => void
  const asking = new Promise<void>((resolve) => (asked = resolve))
  const silent: CveScanner = { name: 'silent', scan: () => (asked(), new Promise(() => {})) }
  const gate = await startGate({ overrides: { crossScanners: [silent] } })
  const { status } = await gate.upload(await buildDeb({ name: 'one', version: '1.0' }), { distribution: 'jammy' })
  expect(status).toBe(201)
  await asking
  const begun = performance.now()
  await gate.stop()
  expect(performance.now() - begun).toBeLessThan(LIMIT_MS)
  await gate.close()
})
