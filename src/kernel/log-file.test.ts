// The service log in files, and the texts that are never written to it.
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { createLogFile } from './log-file.ts'
import { createLog, withoutSecrets } from './log.ts'

let directory: string
let now: Date
const failures: unknown[] = []
beforeEach(async () => {
  now = new Date()
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-log-'))
  return () => rm(directory, { recursive: true })
})

const open = (more: { mostBytes?: number; mostFiles?: number; directory?: string } = {}) =>
  createLogFile({
    ...{ directory, clock: { now: () => now }, mostBytes: 1000, mostFiles: 3, mostDays: 30, host: 'h.example' },
    onFailure: (error) => void failures.push(error),
    ...more,
  })
const NAME = 'service-h-example.log'

describe('the file', () => {
  test('takes lines of several processes, for its owner only', async () => {
    const [one, other] = [open(), open()]
    one.append('{"n":1}\n')
    other.append('{"n":2}\n')
    await one.flush()
    await other.flush()
    expect(await readFile(join(directory, NAME), 'utf8')).toBe('{"n":1}\n{"n":2}\n')
    expect((await stat(join(directory, NAME))).mode & 0o777).toBe(0o600)
    await one.close()
    await other.close()
  })

  test('is rotated when it is large, and only so many are kept', async () => {
    const file = open()
    const other = open()
    for (let n = 0; n < 6; n++) {
      now = new Date(now.getTime() + 1)
      const writer = n % 2 === 0 ? file : other
      writer.append(`${JSON.stringify({ n, text: 'x'.repeat(1000) })}\n`)
      await writer.flush()
    }
    const names = (await readdir(directory)).sort()
    expect(names).toHaveLength(4)
    const numbers = await Promise.all(
      names.map(async (name) => (JSON.parse(await readFile(join(directory, name), 'utf8')) as { n: number }).n),
    )
    expect(numbers).toEqual([5, 2, 3, 4])
    await file.close()
    await other.close()
  })

  test('is rotated on another day, and old ones are deleted', async () => {
    const old = `${NAME}-20200101T000000.000Z`
    await writeFile(join(directory, old), 'old\n')
    await utimes(join(directory, old), new Date('2020-01-01'), new Date('2020-01-01'))
    const file = open()
    file.append('today\n')
    await file.flush()
    now = new Date(now.getTime() + 86_400_000)
    file.append('tomorrow\n')
    await file.flush()
    const names = (await readdir(directory)).sort()
    expect(names).toHaveLength(2)
    expect(names).not.toContain(old)
    expect(await readFile(join(directory, NAME), 'utf8')).toBe('tomorrow\n')
    await file.close()
  })

  test('has what was logged before an exit, and never throws when it cannot be written', async () => {
    const file = open()
    file.append('last\n')
    file.flushNow()
    expect(await readFile(join(directory, NAME), 'utf8')).toBe('last\n')
    await file.close()
    await writeFile(join(directory, 'taken'), '')
    const broken = open({ directory: join(directory, 'taken') })
    broken.append('lost\n')
    await broken.flush()
    broken.flushNow()
    expect(failures.length).toBeGreaterThan(0)
  })
})

describe('a line', () => {
  const token = `svc_${'a'.repeat(43)}`
  const session = `eyJ${'h'.repeat(20)}.${'p'.repeat(90)}.${'s'.repeat(43)}`

  test.each([
    [`error: Bearer ${session} was refused`, 'error: Bearer *** was refused'],
    [`token ${token}`, 'token svc_***'],
    ['postgres://gate:pass-word@db:5432/x', 'postgres://gate:***@db:5432/x'],
    ['https://host:8000/a@b', 'https://host:8000/a@b'],
    ['redis://:secret@cache', 'redis://:***@cache'],
    ['svc_packages_total 5', 'svc_packages_total 5'],
    ['no secret', 'no secret'],
  ])('%s becomes %s', (line, clean) => {
    expect(withoutSecrets(line)).toBe(clean)
  })

  test('has no secret of an error, whatever the field is called', () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line) => void lines.push(line) }, 'service')
    log.error(
      { err: new Error(`no answer of redis://:hunter2@cache for ${token}`), deep: { a: { b: session } } },
      session,
    )
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toMatch(/hunter2|aaaaaaaa|pppppp/)
    expect(JSON.parse(lines[0]!)).toMatchObject({ name: 'service', level: 'error', msg: '***' })
  })
})
