// Damage to the audit log, in its files and in its rows, is named by the scan. Uses PGlite and real files.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { createAuditCheckpoints } from '../../audit/checkpoints.ts'
import { createAuditLog } from '../../audit/log.ts'
import type { Database } from '../../store/db.ts'
import { createPaths, ensurePaths } from '../../store/paths.ts'
import { createAuditFiles, type AuditFiles } from './audit-files.ts'

const signatureOf = (text: string) => Buffer.from(sha256Hex(`only the service knows this ${text}`))

let database: Database
let root: string
let files: AuditFiles
let now: Date
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await sql`truncate audit, audit_chain`.execute(database.db)
  root = await mkdtemp(join(tmpdir(), 'gatehouse-drift-audit-'))
  open()
  await ensurePaths(createPaths(root), [])
  for (const [day, user] of [
    ['01', 'anna'],
    ['01', 'bert'],
    ['02', 'cleo'],
    ['02', 'dora'],
  ])
    await record(`2026-01-${day}T12:00:00Z`, user!)
  return () => rm(root, { recursive: true })
})

let settle: () => Promise<void>
let record: (at: string, user: string) => Promise<void>

/** Opens the audit log, as the start of the service does. */
function open(): void {
  const { db } = database
  const paths = createPaths(root)
  const clock = { now: () => now }
  const failed = (error: unknown) => {
    throw error
  }
  const log = createAuditLog({
    ...{ db, clock, key: 'k', directory: paths.audit, checkpoint: () => {}, mayFile: () => true, onError: failed },
  })
  const sign = async (content: Uint8Array) => signatureOf(Buffer.from(content).toString())
  const checkpoints = createAuditCheckpoints({
    ...{ db, clock, directory: paths.audit, audit: log, sign, mayFile: () => true },
  })
  settle = checkpoints.writeWhenDue
  record = async (at, user) => {
    now = new Date(at)
    await log.record({ action: 'LOGIN', result: 'SUCCESS', user }, db)
    await log.flush()
  }
  const isSigned = async (text: string, signature: Uint8Array) => signatureOf(text).equals(signature)
  files = createAuditFiles({ db, clock, paths, auditLog: { key: 'k', isSigned, settle: () => settle() } })
}

/** @returns what one scan finds and confirms */
async function found() {
  const suspects = []
  for await (const batch of files.inspection.suspects(null, new AbortController().signal)) {
    for (const suspect of batch.suspects) {
      const verdict = await files.confirm(suspect)
      if (verdict.state === 'faulty') suspects.push(verdict.suspect)
    }
  }
  return suspects.map(({ subject, fault, detail }) => `${subject} ${fault}: ${detail}`)
}

const dayFile = (day: string) => join(root, 'audit', `2026-01-${day}.jsonl`)
const change = async (path: string, of: RegExp | string, to: string) =>
  writeFile(path, (await readFile(path, 'utf8')).replace(of, to))

test('a log that nobody changed has no findings, and gets its first checkpoint before it is looked at', async () => {
  expect(await found()).toEqual([])
})

test('a log without entries has no findings', async () => {
  await sql`truncate audit, audit_chain`.execute(database.db)
  await rm(join(root, 'audit'), { recursive: true })
  settle = async () => {}
  expect(await found()).toEqual([])
})

test.each<[string, string, () => Promise<unknown>]>([
  [
    'a changed line',
    'audit/2026-01-02.jsonl wrong_content: 2026-01-02.jsonl:2 was altered: its hash does not fit, and 1 more',
    () => change(dayFile('02'), 'dora', 'eve'),
  ],
  [
    'a removed line',
    'audit/2026-01-01.jsonl wrong_content: 2026-01-01.jsonl:1 entry 1 is missing before it',
    () => change(dayFile('01'), /^.*\n/, ''),
  ],
  [
    'a removed day',
    'audit/2026-01-02.jsonl wrong_content: 2026-01-02.jsonl:1 entries 1 to 2 are missing before it',
    () => rm(dayFile('01')),
  ],
  [
    'a changed row',
    'audit/2026-01-01.jsonl wrong_content: 2026-01-01.jsonl:2 is entry 2, whose row in the database was changed',
    () => sql`update audit set username = 'eve' where seq = 2`.execute(database.db),
  ],
  [
    'a removed row',
    'audit/2026-01-02.jsonl wrong_content: 2026-01-02.jsonl:1 is entry 3, whose row in the database is gone',
    () => sql`delete from audit where seq = 3`.execute(database.db),
  ],
  [
    'a removed first row, which no earlier database wrote',
    'audit/2026-01-01.jsonl wrong_content: 2026-01-01.jsonl:1 is entry 1, whose row in the database is gone',
    () => sql`delete from audit where seq = 1`.execute(database.db),
  ],
  [
    'a removed last row',
    'audit/2026-01-02.jsonl wrong_content: 2026-01-02.jsonl:2 is entry 4, whose row in the database is gone',
    () => sql`delete from audit where seq = 4`.execute(database.db),
  ],
])('%s is named', async (_, expected, damage) => {
  await settle()
  await damage()
  expect(await found()).toEqual([expected])
})

test('rows that were all removed are named, and several faults of a file are one finding', async () => {
  await settle()
  await sql`delete from audit`.execute(database.db)
  settle = async () => {}
  expect(await found()).toEqual([
    'audit/2026-01-01.jsonl wrong_content: 2026-01-01.jsonl:1 is entry 1, whose row in the database is gone, and 1 more',
    'audit/2026-01-02.jsonl wrong_content: 2026-01-02.jsonl:1 is entry 3, whose row in the database is gone, and 1 more',
  ])
})

test('a checkpoint that was changed is named', async () => {
  await settle()
  await change(join(root, 'audit', '2026-01-02.checkpoints'), '"seq":4', '"seq":3')
  expect(await found()).toEqual([
    'audit/2026-01-02.checkpoints wrong_content: 2026-01-02.checkpoints:1 was altered: its signature does not fit',
    'audit missing: holds no checkpoint: the service writes one for its first entry',
  ])
})

test('a directory that is gone is named', async () => {
  await settle()
  await rm(join(root, 'audit'), { recursive: true })
  expect(await found()).toEqual(['audit missing: its directory, or a file of it, is gone'])
})

test('a file that was repaired is sound in the next scan', async () => {
  await settle()
  await change(dayFile('01'), 'bert', 'eve')
  const [finding] = await found()
  expect(finding).toBeDefined()
  await change(dayFile('01'), 'eve', 'bert')
  now = new Date(now.getTime() + 61_000)
  expect(
    await files.confirm({
      area: 'audit',
      subject: 'audit/2026-01-01.jsonl',
      distribution: null,
      sha256: null,
      package_id: null,
    }),
  ).toEqual({
    state: 'sound',
  })
})

test('a new database goes on behind the files of an earlier one, whose entries need no rows', async () => {
  await settle()
  await sql`truncate audit, audit_chain`.execute(database.db)
  open()
  await record('2026-01-03T12:00:00Z', 'fred')
  expect(await found()).toEqual([])
  await sql`delete from audit where seq = 5`.execute(database.db)
  settle = async () => {}
  expect(await found()).toEqual([
    'audit/2026-01-03.jsonl wrong_content: 2026-01-03.jsonl:1 is entry 5, whose row in the database is gone',
  ])
})
