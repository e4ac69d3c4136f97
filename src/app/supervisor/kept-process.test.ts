// A kept process: restarted, replaced and stopped, with processes whose end the test controls.
import { setTimeout as after } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { createLog } from '../../kernel/log.ts'
import { createKeptProcess, type KeptProcess } from './kept-process.ts'
import { WAITS } from './restarts.ts'

interface Fake {
  signals: string[]
  ready(): void
  exit(code: number): void
}

let fakes: Fake[]
let givenUp: number[]
let restarts: number
let kept: KeptProcess

beforeEach(() => {
  fakes = []
  givenUp = []
  restarts = 0
  kept = createKeptProcess({
    name: 'fake',
    rules: { firstPauseMs: 1, longestPauseMs: 1, giveUpAt: 3 },
    log: createLog('silent'),
    onRestart: () => restarts++,
    onGivenUp: (code) => givenUp.push(code),
    spawn() {
      const [ready, exited] = [resolvable<undefined>(), resolvable<number>()]
      const signals: string[] = []
      fakes.push({ signals, ready: () => ready.resolve(undefined), exit: exited.resolve })
      return { ready: ready.promise, exited: exited.promise, kill: (signal) => void signals.push(signal) }
    },
  })
})

function resolvable<T>() {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((it) => (resolve = it))
  return { promise, resolve }
}

/** The nth process, once it was started. */
async function fake(n: number): Promise<Fake> {
  while (!fakes[n]) await after(1)
  return fakes[n]
}

async function start(): Promise<Fake> {
  const starting = kept.start()
  const first = await fake(0)
  first.ready()
  expect(await starting).toBe(null)
  return first
}

test('a first start that fails returns the exit code, and nothing is started again', async () => {
  const starting = kept.start()
  fakes[0]?.exit(3)
  expect(await starting).toBe(3)
  await after(20)
  expect([fakes.length, givenUp]).toEqual([1, []])
})

test('a process that waits is tried again without end, from the first start on, and counts as no restart', async () => {
  const starting = kept.start()
  ;(await fake(0)).exit(WAITS)
  expect(await starting).toBe(null)
  for (let n = 1; n < 10; n++) (await fake(n)).exit(WAITS)
  ;(await fake(10)).ready()
  expect([restarts, givenUp]).toEqual([0, []])
})

test('a process that waits is started no more once it was stopped', async () => {
  const starting = kept.start()
  ;(await fake(0)).exit(WAITS)
  await starting
  expect(await kept.stop()).toBe(0)
  await after(20)
  expect(fakes).toHaveLength(1)
})

test('a process that ends is started again until it has failed too often', async () => {
  const first = await start()
  first.exit(1)
  ;(await fake(1)).exit(1)
  ;(await fake(2)).exit(7)
  while (givenUp.length === 0) await after(1)
  await after(20)
  expect([fakes.length, givenUp, restarts]).toEqual([3, [7], 2])
})

describe('replacing with overlap', () => {
  test('stops the old process when the new one is ready', async () => {
    const old = await start()
    const replacing = kept.replace({ overlap: true })
    const next = await fake(1)
    expect(old.signals).toEqual([])
    next.ready()
    await replacing
    expect([old.signals, next.signals]).toEqual([['SIGTERM'], []])
    old.exit(0)
    next.exit(9)
    await fake(2)
  })

  test('keeps the old process when the new one fails', async () => {
    const old = await start()
    const replacing = kept.replace({ overlap: true })
    ;(await fake(1)).exit(1)
    await replacing
    expect(old.signals).toEqual([])
    old.exit(1)
    await fake(2)
  })
})

test('replacing without overlap waits for the old process', async () => {
  const old = await start()
  const replacing = kept.replace({ overlap: false })
  await after(10)
  expect([old.signals, fakes.length]).toEqual([['SIGTERM'], 1])
  old.exit(0)
  await replacing
  expect(fakes).toHaveLength(2)
})

describe('stopping', () => {
  test('waits for the process and for those that were replaced, and starts nothing again', async () => {
    const old = await start()
    const replacing = kept.replace({ overlap: true })
    const next = await fake(1)
    next.ready()
    await replacing
    let code: number | null = null
    const stopping = kept.stop().then((it) => (code = it))
    next.exit(4)
    await after(10)
    expect(code).toBe(null)
    old.exit(0)
    await stopping
    await after(10)
    expect([code, fakes.length]).toEqual([4, 2])
  })

  test('is awaited by a process that a signal to all ended before, which is no failure and no restart', async () => {
    const only = await start()
    kept.letEnd()
    expect(only.signals).toEqual([])
    only.exit(0)
    await after(20)
    expect([fakes.length, restarts, await kept.stop()]).toEqual([1, 0, 0])
  })

  test('ends a process that is still starting', async () => {
    const starting = kept.start()
    const stopping = kept.stop()
    expect(fakes[0]?.signals).toEqual(['SIGTERM'])
    fakes[0]?.exit(143)
    expect([await starting, await stopping]).toEqual([143, 0])
  })
})
