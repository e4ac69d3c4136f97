import { expect, test } from 'vitest'
import { allEnded } from './all-ended.ts'

test('a failure is thrown only after the other promises have ended', async () => {
  const steps: string[] = []
  let release!: () => void
  const slow = new Promise<void>((resolve) => (release = resolve)).then(() => steps.push('ended'))
  const both = allEnded([Promise.reject(new Error('early')), slow]).catch((error: unknown) =>
    steps.push((error as Error).message),
  )
  await new Promise(setImmediate)
  expect(steps).toEqual([])
  release()
  await both
  expect(steps).toEqual(['ended', 'early'])
})

test('the values are returned in order', async () => {
  expect(await allEnded([Promise.resolve(1), Promise.resolve('two')])).toEqual([1, 'two'])
})
