import { afterAll, beforeAll, expect, test } from 'vitest'
import { mkdtemp, readdir, readFile, rm, writeFile, appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { createTestDatabase } from '../../test/database.ts'
import { migrate, schemaVersion, type Database } from './db.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { createAuditLog } from './audit-log.ts'
import { verifyLines, GENESIS } from './audit-chain.ts'
import { lockDirectory } from './pglite/lock.ts'

let database: Database
let directory: string
beforeAll(async () => {
  database = await createTestDatabase()
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-audit-'))
})
afterAll(async () => {
  await database.close()
  await rm(directory, { recursive: true })
})

// Only one process writes the files; the others record and chain.
const log = (clock = { now: () => new Date() }, mayFile = true) =>
  createAuditLog({
    db: database.db,
    clock,
    directory,
    checkpoint: () => {},
    mayFile: () => mayFile,
    onError: (e) => {
      throw e
    },
  })

async function lines(): Promise<string[]> {
  const files = (await readdir(directory)).sort()
  const texts = await Promise.all(files.map((f) => readFile(join(directory, f), 'utf8')))
  return texts.join('').split('\n').filter(Boolean)
}

test('migrations started by three processes at once run once', async () => {
  await Promise.all([migrate(database.db), migrate(database.db), migrate(database.db)])
  expect(await schemaVersion(database.db)).toBe(Object.keys(MIGRATIONS).at(-1))
})

test('entries recorded at once form one chain in the files, over midnight too', async () => {
  const before = log({ now: () => new Date('2026-01-01T23:59:59.990Z') }, false)
  const after = log({ now: () => new Date('2026-01-02T00:00:00.010Z') }, false)
  await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? after : before).record({ action: 'LOGIN', result: 'SUCCESS', user: `u${i}`, extra: { b: 1, a: 'é' } }),
    ),
  )
  await log().flush()
  const all = await lines()
  expect(all).toHaveLength(40)
  expect(verifyLines(all, GENESIS)).toMatchObject({ fault: null, count: 40 })
  const tampered = all.map((line, i) => (i === 7 ? line.replace('SUCCESS', 'FAILURE') : line))
  expect(verifyLines(tampered, GENESIS).fault).toEqual({ line: 8, reason: 'was altered' })
  expect(
    verifyLines(
      all.filter((_, i) => i !== 3),
      GENESIS,
    ).fault?.line,
  ).toBe(4)
})

test('a line torn by a crash is cut, and an entry already in the file is not written twice', async () => {
  const audit = log({ now: () => new Date('2026-01-03T10:00:00Z') }, false)
  await audit.record({ action: 'UPLOAD', result: 'SUCCESS', user: 'a' })
  await log().flush()
  const path = join(directory, '2026-01-03.jsonl')
  await database.db.updateTable('audit').set({ filed: false }).where('username', '=', 'a').execute()
  await appendFile(path, '{"timestamp":"2026-01-0')
  await audit.record({ action: 'UPLOAD', result: 'SUCCESS', user: 'b' })
  await log().flush()
  const users = (await readFile(path, 'utf8'))
    .trim()
    .split('\n')
    .map((l) => (JSON.parse(l) as { user: string }).user)
  expect(users).toEqual(['a', 'b'])
  expect(verifyLines(await lines(), GENESIS).fault).toBeNull()
})

test('an embedded database directory is refused to a second process and taken over from a dead one', async () => {
  const place = await mkdtemp(join(tmpdir(), 'gatehouse-lock-'))
  const unlock = await lockDirectory(place)
  await expect(lockDirectory(place)).rejects.toThrow(/in use by process/)
  await unlock()
  await writeFile(join(place, 'gatehouse.lock'), '1 12345\n')
  await (
    await lockDirectory(place)
  )()
  await rm(place, { recursive: true })
})
