import { expect, test } from 'vitest'
import { createInFlight } from './in-flight.ts'

test('a wait ends when the last one has left, and returns immediately when nobody is in flight', async () => {
  const inFlight = createInFlight()
  await inFlight.drained(60_000)
  const [first, second] = [inFlight.add(), inFlight.add()]
  let over = false
  const waiting = inFlight.drained(60_000).then(() => (over = true))
  first()
  // The second call of the same function has no effect.
  first()
  await new Promise(setImmediate)
  expect(over).toBe(false)
  second()
  await waiting
})

test('a wait ends after its limit when somebody never leaves', async () => {
  const inFlight = createInFlight()
  inFlight.add()
  await inFlight.drained(5)
})
