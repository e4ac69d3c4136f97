// The access log: nginx's format and escaping, rotation, and a disk that refuses writes.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ourLogs } from '../operations/downloads/log-files.ts'
import { createLog } from '../kernel/log.ts'
import { createAccessLog, type Access, type AccessLog } from './access-log.ts'

const START = new Date('2026-11-21T09:04:05.678Z')
let now = START
const clock = { now: () => now }
const access: Access = {
  address: '10.0.0.7',
  request: 'GET /repos/gpg.key HTTP/1.1',
  status: 200,
  bytes: 17,
  referer: undefined,
  userAgent: 'apt/2.4',
}
const LINE = '10.0.0.7 - - [21/Nov/2026:09:04:05 +0000] "GET /repos/gpg.key HTTP/1.1" 200 17 "-" "apt/2.4"\n'

let dir: string
let path: string
let logged: string[]
let accessLog: AccessLog

beforeEach(() => {
  now = START
  dir = mkdtempSync(join(tmpdir(), 'access-'))
  path = join(dir, 'logs/access-apt.log')
  logged = []
  accessLog = createAccessLog({
    path,
    clock,
    mostBytes: 1e9,
    log: createLog('info', { write: (line) => logged.push(line) }),
  })
})

afterEach(async () => {
  await accessLog.close()
  rmSync(dir, { recursive: true })
})

test('a line is written for each access in the combined format', async () => {
  accessLog.record(access)
  accessLog.record({ ...access, referer: 'http://x/', userAgent: undefined })
  await accessLog.flush()
  expect(readFileSync(path, 'utf8')).toBe(LINE + LINE.replace('"-" "apt/2.4"', '"http://x/" "-"'))
})

test.each([
  ['a"b', 'a\\x22b'],
  ['a\\b', 'a\\x5Cb'],
  ['a\nb\r\t\u0000', 'a\\x0Ab\\x0D\\x09\\x00'],
  ['\u007f\u0080\u00ff', '\\x7F\\x80\\xFF'],
  ['" 200 1 "-" "forged', '\\x22 200 1 \\x22-\\x22 \\x22forged'],
])('%j cannot forge a field or a line', async (text, escaped) => {
  accessLog.record({ ...access, request: `GET /${text} HTTP/1.1`, userAgent: text, referer: text })
  await accessLog.flush()
  const line = LINE.replace('/repos/gpg.key', `/${escaped}`).replace('"-" "apt/2.4"', `"${escaped}" "${escaped}"`)
  expect(readFileSync(path, 'latin1')).toBe(line)
})

test('lines of several processes are never mixed, however many are waiting', async () => {
  const log = createLog('silent')
  // The first writes fail because a directory has the name of the file, so more than a megabyte waits.
  mkdirSync(path, { recursive: true })
  const writers = ['one', 'two', 'three'].map((userAgent) => ({
    userAgent,
    log: createAccessLog({ path, clock, mostBytes: 1e9, log }),
  }))
  for (let n = 0; n < 12_000; n++) for (const { userAgent, log } of writers) log.record({ ...access, userAgent })
  rmSync(path, { recursive: true })
  await Promise.all(writers.map(({ log }) => log.close()))
  const lines = readFileSync(path, 'latin1').split('\n')
  const count = (userAgent: string) => lines.filter((line) => line === LINE.trim().replace('apt/2.4', userAgent)).length
  expect([count('one'), count('two'), count('three'), lines.length]).toEqual([12_000, 12_000, 12_000, 36_001])
})

test('a new file is started when the old one is rotated or removed', async () => {
  accessLog.record(access)
  await accessLog.flush()
  renameSync(path, `${path}.1`)
  accessLog.record(access)
  await accessLog.flush()
  expect([readFileSync(`${path}.1`, 'utf8'), readFileSync(path, 'utf8')]).toEqual([LINE, LINE])
  rmSync(path)
  accessLog.record(access)
  await accessLog.flush()
  expect(readFileSync(path, 'utf8')).toBe(LINE)
})

test('a file truncated in place is continued from its start', async () => {
  accessLog.record(access)
  await accessLog.flush()
  writeFileSync(path, '')
  accessLog.record(access)
  await accessLog.flush()
  expect(readFileSync(path, 'utf8')).toBe(LINE)
})

test('64 KiB of lines are written without a flush', async () => {
  const long = { ...access, userAgent: 'x'.repeat(1000) }
  for (let i = 0; i < 64; i++) accessLog.record(long)
  // Joins the running write, if there is one.
  await accessLog.flush()
  expect(readFileSync(path).byteLength).toBeGreaterThan(64 * 1024)
})

test('a line is written after the flush interval', async () => {
  const quick = createAccessLog({ path, clock, mostBytes: 1e9, log: createLog('silent'), flushEveryMs: 5 })
  quick.record(access)
  await expect
    .poll(() => {
      try {
        return readFileSync(path, 'utf8')
      } catch {
        return ''
      }
    })
    .toBe(LINE)
  await quick.close()
})

test('closing writes the waiting lines and drops later ones', async () => {
  accessLog.record(access)
  await accessLog.close()
  accessLog.record(access)
  await accessLog.close()
  expect(readFileSync(path, 'utf8')).toBe(LINE)
})

test('lines wait while the file cannot be opened, one error is logged, and all lines are written later', async () => {
  writeFileSync(join(dir, 'logs'), 'in the way')
  accessLog.record(access)
  await accessLog.flush()
  accessLog.record(access)
  await accessLog.flush()
  expect(logged).toHaveLength(1)
  rmSync(join(dir, 'logs'))
  await accessLog.flush()
  expect(readFileSync(path, 'utf8')).toBe(LINE + LINE)
})

test('a disk that cannot be written to loses lines instead of using memory', async () => {
  writeFileSync(join(dir, 'logs'), 'in the way')
  const long = { ...access, userAgent: 'x'.repeat(10_000) }
  for (let i = 0; i < 2000; i++) accessLog.record(long)
  await accessLog.flush()
  rmSync(join(dir, 'logs'))
  await accessLog.flush()
  expect(readFileSync(path).byteLength).toBeLessThanOrEqual(8 * 1024 * 1024)
  expect(logged.some((line) => line.includes('dropped'))).toBe(true)
})

test('a log is rotated by size under names that downloads are counted from, and never larger in all than its bound', async () => {
  const mostBytes = 64_000
  const names = () => readdirSync(join(dir, 'logs')).sort()
  const bounded = createAccessLog({
    ...{ path, clock, mostBytes },
    log: createLog('info', { write: (line) => logged.push(line) }),
  })
  const write = async (agent: string) => {
    bounded.record({ ...access, userAgent: `${agent}${'x'.repeat(3000)}` })
    await bounded.flush()
  }
  mkdirSync(join(dir, 'logs'))
  for (const [n, old] of ['access-apt.log-20261120', 'access-apt.log.2.gz'].entries()) {
    writeFileSync(join(dir, 'logs', old), 'o'.repeat(10_000))
    utimesSync(join(dir, 'logs', old), n, n)
  }
  writeFileSync(join(dir, 'logs', 'access-apt.log-notes'), 'kept')
  for (let n = 0; n < 100; n++) {
    now = new Date(now.getTime() + 1)
    await write(`agent-${n} `)
    const sum = names().reduce((total, name) => total + statSync(join(dir, 'logs', name)).size, 0)
    expect(sum).toBeLessThanOrEqual(mostBytes)
  }
  const places = (await ourLogs(join(dir, 'logs'))).map((place) => basename(place.path)).sort()
  expect(places).toEqual(names().filter((name) => name !== 'access-apt.log-notes'))
  expect(names()).toContain('access-apt.log-notes')
  const kept = places.map((name) => readFileSync(join(dir, 'logs', name), 'utf8')).join('')
  expect(kept).toContain('agent-99 ')
  expect(kept).not.toContain('agent-0 ')
  const deleted = logged.filter((line) => line.includes('ACCESS_LOG_MB'))
  expect(deleted.slice(0, 2).map((line) => basename((JSON.parse(line) as { path: string }).path))).toEqual([
    'access-apt.log-20261120',
    'access-apt.log.2.gz',
  ])
  await bounded.close()
})

test('processes that write one log rotate it without losing a line of each other', async () => {
  const log = createLog('silent')
  const writers = ['one', 'two', 'three'].map((userAgent) => ({
    userAgent,
    log: createAccessLog({ path, clock, log, mostBytes: 1_600_000 }),
  }))
  for (let n = 0; n < 40; n++) {
    now = new Date(now.getTime() + 1)
    for (const { userAgent, log } of writers) for (let i = 0; i < 100; i++) log.record({ ...access, userAgent })
    await Promise.all(writers.map(({ log }) => log.flush()))
  }
  const files = readdirSync(join(dir, 'logs'))
  expect(files.length).toBeGreaterThan(3)
  const lines = files.flatMap((name) =>
    readFileSync(join(dir, 'logs', name), 'latin1')
      .split('\n')
      .filter(Boolean),
  )
  expect(lines).toHaveLength(12_000)
  await Promise.all(writers.map(({ log }) => log.close()))
})
