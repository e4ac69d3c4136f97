import { expect, test } from 'vitest'
import { createStallGuard } from './stall-guard.ts'

function held<T>() {
  let release!: (value: T) => void
  const work = new Promise<T>((resolve) => (release = resolve))
  return { work: () => work, release }
}

test('Work that ends in time gives its result, and its error', async () => {
  const guard = createStallGuard('a disk', 1_000)
  expect(await guard(async () => 3)).toBe(3)
  await expect(guard(() => Promise.reject(new Error('why')))).rejects.toThrow('why')
})

test('Work that is late is refused, and more is refused at once, without being begun, until it has ended', async () => {
  const guard = createStallGuard('a disk', 20)
  const { work, release } = held<string>()
  const unused: string[] = []
  const refusal = { code: 'storage_unavailable', retryAfterSeconds: 5 }
  await expect(guard(work, (late) => unused.push(late))).rejects.toMatchObject(refusal)
  let begun = 0
  const more = () => guard(async () => ++begun)
  await expect(more()).rejects.toMatchObject(refusal)
  expect(begun).toBe(0)
  release('late')
  await expect.poll(more).toBe(1)
  expect(unused).toEqual(['late'])
})

test('At most eight pieces of work are under way', async () => {
  const guard = createStallGuard('a disk', 20)
  const { work, release } = held<null>()
  let begun = 0
  const all = Array.from({ length: 20 }, () => guard(() => (begun++, work())).catch(() => null))
  await Promise.all(all)
  expect(begun).toBe(8)
  release(null)
})
