import { expect, test } from 'vitest'
import { createShared } from './shared.ts'

test('callers of one turn share a run, and callers that ask during it share the next', async () => {
  let runs = 0
  let release = () => {}
  const run = createShared(async () => {
    const number = ++runs
    await new Promise<void>((resolve) => (release = resolve))
    return number
  })
  const first = [run(), run()]
  while (runs === 0) await new Promise(setImmediate)
  const second = [run(), run()]
  release()
  expect(await Promise.all(first)).toEqual([1, 1])
  while (runs === 1) await new Promise(setImmediate)
  release()
  expect(await Promise.all(second)).toEqual([2, 2])
})

test('a failed run does not stop the next', async () => {
  let runs = 0
  const run = createShared(() => (++runs === 1 ? Promise.reject(new Error('once')) : Promise.resolve(runs)))
  await expect(run()).rejects.toThrow('once')
  expect(await run()).toBe(2)
})

test('a run is told whether it waited for another run', async () => {
  const queued: boolean[] = []
  let again: Promise<void> | undefined
  const run = createShared(
    () => {
      again ??= run()
      return Promise.resolve()
    },
    (wasQueued) => {
      queued.push(wasQueued)
      return Promise.resolve()
    },
  )
  await run()
  await again
  await run()
  expect(queued).toEqual([false, true, false])
})
