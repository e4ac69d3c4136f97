// Which process is asked for a report, and what one that does not answer costs.
import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { createListenerReports, type ListenerReports } from './listener-reports.ts'

let reports: ListenerReports
beforeEach(() => (reports = createListenerReports(2, 20)))

/** A process that answers with its name, or not at all. */
function follow(number: number, name: string | null) {
  let isReady!: () => void
  let ended!: (code: number) => void
  const ready = new Promise<void>((resolve) => (isReady = resolve))
  const exited = new Promise<number>((resolve) => (ended = resolve))
  let asked = 0
  reports.follow(number, { ready, exited }, () => {
    asked++
    return name === null ? new Promise(() => {}) : Promise.resolve(name)
  })
  return { ready: isReady, exit: () => ended(0), asked: () => asked }
}

/** What happened to processes is known in the next turn of the event loop. */
async function answers(): Promise<unknown[]> {
  await setImmediate()
  return (await reports.all()).map(({ report }) => report)
}

test('a process is asked from when it is ready until it ends', async () => {
  expect(await answers()).toEqual([null, null])
  const one = follow(1, 'one')
  expect(await answers()).toEqual([null, null])
  one.ready()
  expect(await answers()).toEqual(['one', null])
  one.exit()
  expect(await answers()).toEqual([null, null])
})

test('the process in whose place another one comes is asked until that one is ready, and never when it fails', async () => {
  follow(1, 'old').ready()
  follow(1, 'failed').exit()
  expect(await answers()).toEqual(['old', null])
  follow(1, 'new').ready()
  expect(await answers()).toEqual(['new', null])
})

test('a process that does not answer hides no other, and is asked once', async () => {
  const held = follow(1, null)
  held.ready()
  follow(2, 'two').ready()
  expect(await answers()).toEqual([null, 'two'])
  expect(await answers()).toEqual([null, 'two'])
  expect(held.asked()).toBe(1)
})

test('restarts count for each listener', async () => {
  reports.countRestart(2)
  reports.countRestart(2)
  expect((await reports.all()).map(({ number, restarts }) => [number, restarts])).toEqual([
    [1, 0],
    [2, 2],
  ])
})
