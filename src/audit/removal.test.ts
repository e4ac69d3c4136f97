// Removing old days of the audit log: what is removed, what a crash leaves, and every way to cut days off by hand.
import { appendFile, cp, mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { sha256Hex } from '../kernel/crypto.ts'
import { createAuditCheckpoints } from './checkpoints.ts'
import { createAuditLog } from './log.ts'
import { entriesAfter, removedPart } from './audit-query.ts'
import { lineOf } from './chain.ts'
import { createAuditRemoval } from './removal.ts'
import { REMOVAL_NOTE, type RemovalNote } from './removal-note.ts'
import { verifyDirectory, verifyFile } from './verify.ts'
import type { Database } from '../store/db.ts'

const KEY = 'the key of the tests'
const DAYS = ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04'] as const
const [FIRST, SECOND, THIRD, LAST] = DAYS
const { signal } = new AbortController()

let database: Database
let directory: string
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await sql`truncate audit, audit_chain, notify_cursor, removal_holds`.execute(database.db)
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-audit-'))
  await threeADay()
  return () => rm(directory, { recursive: true })
})

const signatureOf = (text: string) => Buffer.from(sha256Hex(`only the service knows this ${text}`))
const isSigned = async (text: string, signature: Uint8Array) => signatureOf(text).equals(signature)

function serviceAt(time: string, of: { db?: Database['db']; onSign?: () => void } = {}) {
  const deps = {
    db: of.db ?? database.db,
    clock: { now: () => new Date(time) },
    directory,
    key: KEY,
    checkpoint: () => {},
    mayFile: () => true,
    onError: (error: unknown) => {
      throw error
    },
  }
  const log = createAuditLog(deps)
  const audit = { ...log, record: (event: Parameters<typeof log.record>[0]) => log.record(event, deps.db) }
  const sign = async (content: Uint8Array) => {
    const text = Buffer.from(content).toString()
    if (text.includes('removal')) of.onSign?.()
    return signatureOf(text)
  }
  const checkpoints = createAuditCheckpoints({ ...deps, audit, sign })
  return { audit, checkpoints, removal: createAuditRemoval({ ...deps, audit, checkpoints, sign, isSigned }) }
}

/** Three entries on each of the days, and a checkpoint after each second and third. */
async function threeADay(): Promise<void> {
  for (const day of DAYS)
    for (const hour of ['08', '09', '10']) {
      const { audit, checkpoints } = serviceAt(`${day}T${hour}:00:00Z`)
      await audit.record({ action: 'LOGIN', result: 'SUCCESS', user: `u-${day}-${hour}` })
      await audit.flush()
      if (hour !== '08') await checkpoints.write()
    }
}

const NOW = `${LAST}T12:00:00Z`
const removeBefore = (day: string) => serviceAt(NOW).removal.removeBefore(day, signal)
const files = async () => (await readdir(directory)).filter((name) => !name.includes('.damaged-')).sort()
const rows = async () =>
  (await database.db.selectFrom('audit').select('seq').orderBy('seq').execute()).map(({ seq }) => seq)
const verify = async () =>
  verifyDirectory(directory, { key: KEY, isSigned, removedSeq: (await removedPart(database.db)).seq })
const faults = async () => (await verify()).faults.map(({ where, what }) => `${where} ${what}`)
const alerts = async () =>
  (await database.db.selectFrom('audit').select('outcome').where('action', '=', 'INTEGRITY_ALERT').execute()).map(
    ({ outcome }) => outcome,
  )
const readNote = async () => JSON.parse(await readFile(join(directory, REMOVAL_NOTE), 'utf8')) as RemovalNote
const writeNote = (note: object) => writeFile(join(directory, REMOVAL_NOTE), `${JSON.stringify(note)}\n`)

describe('removal', () => {
  test('removes files and rows of old days, and the rest verifies', async () => {
    expect(await serviceAt(NOW).removal.count(THIRD)).toEqual({ entries: 6, files: 4 })
    expect(await removeBefore(THIRD)).toEqual({ entries: 6, files: 4, refused: null })
    expect(await files()).toEqual(
      [THIRD, LAST].flatMap((day) => [`${day}.checkpoints`, `${day}.jsonl`]).concat(REMOVAL_NOTE),
    )
    expect(await rows()).toEqual([7, 8, 9, 10, 11, 12])
    expect(await verify()).toMatchObject({
      entries: 6,
      faults: [],
      removed: { seq: 6, day: SECOND },
      head: { seq: 12 },
    })
    expect(await removedPart(database.db)).toEqual({ seq: 6, keptFrom: THIRD })
    const path = join(directory, 'export')
    await writeFile(path, (await entriesAfter(database.db, {}, null, 100)).map(lineOf).join(''))
    expect(await verifyFile(path, 'export', { key: KEY, isSigned })).toMatchObject({ entries: 6, faults: [] })
  })

  test('continues day by day, and the log goes on', async () => {
    for (const [day, entries] of [
      [FIRST, 0],
      [SECOND, 3],
      [SECOND, 0],
      [THIRD, 3],
    ] as const)
      expect(await removeBefore(day)).toMatchObject({ entries, refused: null })
    const { audit, checkpoints } = serviceAt(`${LAST}T13:00:00Z`)
    await audit.record({ action: 'LOGIN', result: 'SUCCESS', user: 'later' })
    await checkpoints.write()
    expect(await verify()).toMatchObject({ entries: 7, faults: [], head: { seq: 13 } })
    expect(await alerts()).toEqual([])
  })

  test('keeps the last day with entries', async () => {
    expect(await removeBefore('2027-01-01')).toMatchObject({ entries: 9 })
    expect(await rows()).toEqual([10, 11, 12])
    expect(await faults()).toEqual([])
  })

  test('keeps the days of entries that a channel still has to send', async () => {
    await database.db
      .insertInto('notify_cursor')
      .values([
        { id: 1, seq: 12, tries: 0, retry_at: null },
        { id: 2, seq: 4, tries: 2, retry_at: null },
      ])
      .execute()
    expect(await removeBefore(LAST)).toMatchObject({ entries: 3 })
    expect((await rows())[0]).toBe(4)
  })

  test('waits for the end of a backup', async () => {
    await sql`insert into removal_holds (id, until) values ('b', now() + interval '1 minute')`.execute(database.db)
    expect(await removeBefore(LAST)).toEqual({ entries: 0, files: 0, refused: 'a backup is reading the files' })
    expect((await rows()).length).toBe(12)
    await sql`delete from removal_holds`.execute(database.db)
    expect(await removeBefore(LAST)).toMatchObject({ entries: 9 })
  })

  test('continues the chain behind the note with an empty database and without files of days', async () => {
    await removeBefore(LAST)
    for (const name of await files()) if (name.startsWith(LAST)) await unlink(join(directory, name))
    await sql`truncate audit, audit_chain`.execute(database.db)
    const { audit, checkpoints } = serviceAt(`${LAST}T13:00:00Z`)
    await audit.record({ action: 'LOGIN', result: 'SUCCESS', user: 'new' })
    await checkpoints.write()
    expect(await verify()).toMatchObject({ entries: 1, faults: [], head: { seq: 10 } })
  })
})

describe('a crash', () => {
  const crash = new Error('crash')

  test('before the note is written removes nothing, and the next run completes', async () => {
    const service = serviceAt(NOW, {
      onSign: () => {
        throw crash
      },
    })
    await expect(service.removal.removeBefore(THIRD, signal)).rejects.toBe(crash)
    expect((await rows()).length).toBe(12)
    expect(await faults()).toEqual([])
    expect(await removeBefore(THIRD)).toEqual({ entries: 6, files: 4, refused: null })
    expect(await faults()).toEqual([])
  })

  test.each<[string, (kept: string) => Promise<unknown>]>([
    ['before any file is deleted', (kept) => cp(kept, directory, { recursive: true, force: false })],
    ['between two files', (kept) => cp(join(kept, `${SECOND}.jsonl`), join(directory, `${SECOND}.jsonl`))],
    ['between files and rows', async () => {}],
  ])('%s leaves a log that verifies, and the next run completes', async (_, restoreFiles) => {
    const kept = await mkdtemp(join(tmpdir(), 'gatehouse-audit-'))
    await cp(directory, kept, { recursive: true })
    const { rows: all } = await sql<Record<string, unknown>>`select * from audit where seq <= 6`.execute(database.db)
    await removeBefore(THIRD)
    await restoreFiles(kept)
    for (const row of all)
      await sql`insert into audit overriding system value select * from jsonb_populate_record(null::audit, ${JSON.stringify(row)}::jsonb)`.execute(
        database.db,
      )
    expect((await rows()).length).toBe(12)
    expect(await faults()).toEqual([])
    expect(await removeBefore(THIRD)).toMatchObject({ entries: 6, refused: null })
    expect((await files()).filter((name) => name < THIRD)).toEqual([])
    expect(await faults()).toEqual([])
    await rm(kept, { recursive: true })
  })
})

describe('verification after a removal finds', () => {
  test.each<[string, () => Promise<unknown>, string]>([
    ['a further day cut off', () => unlink(join(directory, `${THIRD}.jsonl`)), 'entries 7 to 9 are missing before it'],
    ['the note removed', () => unlink(join(directory, REMOVAL_NOTE)), 'entries 1 to 6 are missing before it'],
    [
      'the note removed with the checkpoints',
      async () => {
        for (const name of await files()) if (name.includes('checkpoint')) await unlink(join(directory, name))
      },
      'entries 1 to 6 are missing before it',
    ],
    ['the note emptied', () => writeFile(join(directory, REMOVAL_NOTE), ''), 'its signature does not fit'],
    [
      'a note that names more',
      async () => writeNote({ ...(await readNote()), day: THIRD, seq: 9 }),
      `${REMOVAL_NOTE} was altered`,
    ],
    [
      'a note with another day',
      async () => writeNote({ ...(await readNote()), day: THIRD }),
      `${REMOVAL_NOTE} was altered`,
    ],
    [
      'a checkpoint passed off as the note',
      async () => {
        const [line] = (await readFile(join(directory, `${THIRD}.checkpoints`), 'utf8')).split('\n').slice(-2)
        const { at, seq, hash, previous, signature } = JSON.parse(line ?? '') as RemovalNote
        await writeNote({ at, day: THIRD, seq, hash, previous, signature })
        await unlink(join(directory, `${THIRD}.jsonl`))
        await unlink(join(directory, `${THIRD}.checkpoints`))
      },
      `${REMOVAL_NOTE} was altered`,
    ],
    [
      'the checkpoints of the first kept day removed',
      () => unlink(join(directory, `${THIRD}.checkpoints`)),
      `${LAST}.checkpoints:1 does not follow the checkpoint before it`,
    ],
    [
      'the first entry that is kept removed',
      async () => {
        const path = join(directory, `${THIRD}.jsonl`)
        await writeFile(path, (await readFile(path, 'utf8')).split('\n').slice(1).join('\n'))
      },
      'entry 7 is missing before it',
    ],
  ])('%s', async (_, tamper, expected) => {
    await removeBefore(THIRD)
    await tamper()
    expect((await faults()).join('\n')).toContain(expected)
  })

  test('a genuine note of a copy of the system that removed more', async () => {
    await removeBefore(SECOND)
    const { removed_seq, removed_day } = await database.db
      .selectFrom('audit_chain')
      .select(['removed_seq', 'removed_day'])
      .executeTakeFirstOrThrow()
    await removeBefore(LAST)
    expect(await faults()).toEqual([])
    await database.db.updateTable('audit_chain').set({ removed_seq, removed_day }).execute()
    expect(await faults()).toEqual([`${REMOVAL_NOTE} names 9 removed entries, of which the database knows 3`])
  })
})

describe('a log that was tampered with', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['an old day is deleted', () => unlink(join(directory, `${FIRST}.jsonl`))],
    ['junk is appended to an old day', () => appendFile(join(directory, `${SECOND}.jsonl`), 'junk\n')],
    ['an old day is emptied', () => writeFile(join(directory, `${SECOND}.jsonl`), '')],
  ])('is restored from the database and reported before it is removed: %s', async (_, tamper) => {
    await tamper()
    expect(await removeBefore(THIRD)).toMatchObject({ entries: 6, refused: null })
    expect(await alerts()).toEqual(['audit_file_changed'])
    expect(await faults()).toEqual([])
  })

  test.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'an old day is cut off in files and database',
      async () => {
        await unlink(join(directory, `${FIRST}.jsonl`))
        await sql`delete from audit where seq <= 3`.execute(database.db)
      },
      /entries 1 to 3 are missing/,
    ],
    [
      'an old checkpoint is forged',
      async () => {
        const path = join(directory, `${FIRST}.checkpoints`)
        await writeFile(path, (await readFile(path, 'utf8')).replace('"unkeyed":0', '"unkeyed":3'))
      },
      /was altered/,
    ],
    [
      'a forged note is planted',
      () => writeNote({ at: '', day: THIRD, seq: 9, hash: '', previous: '', signature: '' }),
      /altered/,
    ],
    [
      'the first kept day is cut',
      async () => {
        const path = join(directory, `${THIRD}.jsonl`)
        await writeFile(path, (await readFile(path, 'utf8')).split('\n').slice(1).join('\n'))
      },
      /does not follow/,
    ],
  ])('is kept, and reported: %s', async (_, tamper, reason) => {
    await tamper()
    const before = await files()
    const count = (await rows()).length
    const removed = await removeBefore(THIRD)
    expect(removed).toMatchObject({ entries: 0, files: 0, refused: expect.stringMatching(reason) as string })
    expect(await alerts()).toEqual(['audit_log_changed'])
    expect(await files()).toEqual(before)
    expect((await rows()).length).toBe(count + 1)
  })
})
