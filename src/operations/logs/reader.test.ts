// Reading the service log from its end, and following it.
import { renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { readLog, type LogFilter } from './reader.ts'
import { createLogTail } from './tail.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-read-log-'))
  return () => rm(directory, { recursive: true })
})

const T0 = Date.parse('2026-03-01T12:00:00Z')
const line = (n: number, more: object = {}) =>
  `${JSON.stringify({ level: 'info', time: new Date(T0 + n * 1000).toISOString(), name: 'service', msg: `m${n}`, ...more })}\n`
const write = (name: string, ...lines: string[]) => writeFile(join(directory, name), lines.join(''))
const read = async (filter: LogFilter = {}, limit = 100) => {
  const { entries, complete } = await readLog(directory, filter, limit)
  return [entries.map(({ message }) => message).join(' '), complete]
}

describe('reading', () => {
  test('gives the newest first, over rotated files and machines', async () => {
    await write('service-a.log-20260301T120002.000Z', line(0), line(2))
    await write('service-a.log-20260301T120004.000Z', line(4))
    await write('service-a.log', line(6), line(7))
    await write('service-b.log', line(1), line(3), line(5))
    await write('access-apt.log', line(9))
    expect(await read()).toEqual(['m7 m6 m5 m4 m3 m2 m1 m0', true])
    expect(await read({}, 3)).toEqual(['m7 m6 m5', false])
    expect(await read({ since: new Date(T0 + 5000) })).toEqual(['m7 m6 m5', true])
  })

  test.each<[string, LogFilter, string]>([
    ['level', { level: 'warn' }, 'm3 m2'],
    ['logger', { logger: 'listener' }, 'm1'],
    ['part of a field', { q: 'CACHE' }, 'm3'],
    ['all of them', { level: 'error', q: 'cache', logger: 'service' }, 'm3'],
    ['nothing', { q: 'nowhere' }, ''],
  ])('is narrowed by %s', async (_, filter, messages) => {
    const [more, other] = [{ level: 'error', err: { message: 'no Cache' } }, { name: 'listener' }]
    await write('service-a.log', line(0), line(1, other), line(2, { level: 'warn' }), line(3, more))
    expect(await read(filter)).toEqual([messages, true])
  })

  test('leaves out what is no entry, is too long or is still being written, across blocks', async () => {
    const filler = Array.from({ length: 3000 }, (_, n) => line(n, { text: 'ä'.repeat(n % 97) }))
    await write(
      'service-a.log',
      line(0),
      'garbage\n',
      '\n',
      line(1, { text: 'x'.repeat(200_000) }),
      ...filler,
      line(3000),
      '{"level":"info","ti',
    )
    const { entries, complete } = await readLog(directory, {}, 10_000)
    expect(entries.map(({ message }) => message)).toEqual([
      ...Array.from({ length: 3001 }, (_, n) => `m${3000 - n}`),
      'm0',
    ])
    expect(complete).toBe(true)
  })

  test('of no directory gives nothing', async () => {
    expect(await readLog(join(directory, 'absent'), {}, 5)).toEqual({ entries: [], complete: true })
  })
})

test('a file that is rotated between any two steps of a reading is read, and read once', async () => {
  const path = join(directory, 'service-a.log')
  await write('service-a.log', line(0))
  const rotated: string[] = []
  let [n, begun, isOver] = [0, 0, false]
  const rotating = (async () => {
    while (!isOver) {
      // Files that a running read may still need are not deleted meanwhile.
      for (; n - begun > 10 && !isOver;) await nextTurn()
      const at = new Date(Date.UTC(2026, 2, 1) + ++n).toISOString().replace(/[-:]/g, '')
      renameSync(path, `${path}-${at}`)
      rotated.push(`${path}-${at}`)
      for (let turns = 0; turns < n % 7; turns++) await nextTurn()
      writeFileSync(path, line(n))
      // A small directory is listed in one step, as that of a service is.
      if (rotated.length > 20) unlinkSync(rotated.shift()!)
      for (let turns = 0; turns < n % 29; turns++) await nextTurn()
    }
  })()
  try {
    for (let reading = 0; reading < 60; reading++) {
      begun = n
      const { entries } = await readLog(directory, {}, 5)
      const newest = Number(entries[0]?.message.slice(1))
      const wanted = Array.from({ length: Math.min(5, newest + 1) }, (_, back) => `m${newest - back}`)
      expect(entries.map(({ message }) => message)).toEqual(wanted)
    }
  } finally {
    isOver = true
    await rotating
  }
})

test('following gives each line once, through a rotation, and none from before', async () => {
  const path = join(directory, 'service-a.log')
  await write('service-a.log', line(0))
  const tail = createLogTail({ directory, onError: (error) => expect.unreachable(String(error)), everyMs: 10 })
  const heard: string[] = []
  let ended = false
  const leave = await tail.listen({
    receive: ({ message }) => void heard.push(message),
    dropped: () => {},
    end: () => void (ended = true),
  })
  await appendFile(path, line(1).slice(0, 20))
  await appendFile(path, line(1).slice(20))
  await expect.poll(() => heard).toEqual(['m1'])
  await appendFile(path, line(2))
  await rename(path, `${path}-20260301T120002.000Z`)
  await write('service-a.log', line(3))
  await write('service-b.log', line(4))
  await expect.poll(() => [...heard].sort()).toEqual(['m1', 'm2', 'm3', 'm4'])
  await appendFile(path, `${'x'.repeat(2 * 1024 * 1024)}\n${line(5)}`)
  await expect.poll(() => heard.at(-1)).toBe('m5')
  tail.stop()
  expect(ended).toBe(true)
  leave()
})

test('files that are rotated between any two steps of a look are followed, each line once', async () => {
  const path = join(directory, 'service-a.log')
  const [heard, errors] = [[] as string[], [] as unknown[]]
  await write('service-a.log', line(0))
  const tail = createLogTail({ directory, onError: (error) => errors.push(error), everyMs: 1 })
  const listener = { receive: ({ message }: { message: string }) => void heard.push(message), dropped: () => {} }
  const leave = await tail.listen({ ...listener, end: () => {} })
  const wrote = Array.from({ length: 150 }, (_, n) => n + 1)
  for (const n of wrote) {
    renameSync(path, `${path}-20260301T120000.${String(n).padStart(3, '0')}Z`)
    // For some turns there is no file of this name, as when another process of the machine rotates it.
    for (let turns = 0; turns < 1 + (n % 7); turns++) await nextTurn()
    writeFileSync(path, line(n))
    for (let turns = 0; turns < 1 + (n % 5); turns++) await nextTurn()
  }
  await expect.poll(() => heard.length).toBeGreaterThanOrEqual(wrote.length)
  tail.stop()
  leave()
  expect(heard.sort()).toEqual(wrote.map((n) => `m${n}`).sort())
  expect(errors).toEqual([])
})
