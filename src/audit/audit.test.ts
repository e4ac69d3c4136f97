// The audit log from recording to verification: chain, files, checkpoints, and every way to tamper with them.
import { appendFile, cp, mkdtemp, readdir, readFile, rm, truncate, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { sha256Hex } from '../kernel/crypto.ts'
import { chainHash, entryMac, GENESIS, lineOf, type AuditEntry } from './chain.ts'
import { createAuditCheckpoints } from './checkpoints.ts'
import { createAuditLog } from './log.ts'
import { entriesAfter, filedHead } from './audit-query.ts'
import { verifyDirectory, verifyFile } from './verify.ts'
import type { Database } from '../store/db.ts'

const KEY = 'the key of the tests'
const DAYS = ['2026-01-01', '2026-01-02', '2026-01-03'] as const
const LAST = `${DAYS[2]}.jsonl`

let database: Database
let directory: string
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.db.deleteFrom('audit').execute()
  await database.db.deleteFrom('audit_chain').execute()
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-audit-'))
  return () => rm(directory, { recursive: true })
})

const signatureOf = (text: string) => Buffer.from(sha256Hex(`only the service knows this ${text}`))
const isSigned = async (text: string, signature: Uint8Array) => signatureOf(text).equals(signature)

/** A service at a moment; only one process writes the files, the others record and chain. */
function serviceAt(time: string, mayFile = true) {
  const deps = {
    db: database.db,
    clock: { now: () => new Date(time) },
    directory,
    key: KEY,
    checkpoint: () => {},
    mayFile: () => mayFile,
    onError: (error: unknown) => {
      throw error
    },
  }
  const audit = createAuditLog(deps)
  const sign = async (content: Uint8Array) => signatureOf(Buffer.from(content).toString())
  return { audit, checkpoints: createAuditCheckpoints({ ...deps, audit, sign }) }
}

const loginOf = (user: string) => ({ action: 'LOGIN', result: 'SUCCESS', user, extra: { b: 1, a: 'é\u2028' } }) as const

/** Three entries on each of three days, and a checkpoint after each second and third. */
async function threeDays(): Promise<void> {
  for (const day of DAYS) {
    for (const hour of ['08', '09', '10']) {
      const { audit, checkpoints } = serviceAt(`${day}T${hour}:00:00Z`)
      await audit.record(loginOf(`u-${day}-${hour}`), database.db)
      await audit.flush()
      if (hour !== '08') await checkpoints.writeWhenDue()
    }
  }
}

const linesIn = async (name: string) => (await readFile(join(directory, name), 'utf8')).split('\n').filter(Boolean)
const write = (name: string, lines: string[]) =>
  writeFile(join(directory, name), lines.map((line) => `${line}\n`).join(''))
const edit = async (name: string, change: (lines: string[]) => string[]) => write(name, change(await linesIn(name)))
const faults = async (key: string | null = KEY) =>
  (await verifyDirectory(directory, { key, isSigned })).faults.map(({ where, what }) => `${where} ${what}`)

/** Hashes a changed chain again from an entry on, as an attacker without the key can. */
async function hashAgain(change: (entries: AuditEntry[]) => AuditEntry[], key?: string): Promise<void> {
  const entries = (await Promise.all(DAYS.map((day) => linesIn(`${day}.jsonl`)))).flat()
  let previous = GENESIS
  let seq = 0
  const changed = change(entries.map((line) => JSON.parse(line) as AuditEntry)).map((entry) => {
    const hash = chainHash({ ...entry, prev_hash: previous })
    seq++
    const next = { ...entry, prev_hash: previous, hash, seq, mac: key ? entryMac(key, seq, hash) : entry.mac }
    previous = hash
    return next
  })
  for (const day of DAYS)
    await write(
      `${day}.jsonl`,
      changed.filter(({ timestamp }) => timestamp.startsWith(day)).map((entry) => JSON.stringify(entry)),
    )
}

describe('filing', () => {
  test('entries recorded at the same time form one chain in the files, over midnight too', async () => {
    const before = serviceAt('2026-01-01T23:59:59.990Z', false).audit
    const after = serviceAt('2026-01-02T00:00:00.010Z', false).audit
    await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? after : before).record(loginOf(`u${i}`))))
    const { checkpoints } = serviceAt('2026-01-02T00:00:01Z')
    await checkpoints.write()
    expect(await verifyDirectory(directory, { key: KEY, isSigned })).toMatchObject({ entries: 40, faults: [] })
  })

  test('cuts a line torn by a crash, and does not write an entry twice that the file holds already', async () => {
    const { audit } = serviceAt('2026-01-03T10:00:00Z')
    await audit.record(loginOf('a'), database.db)
    await audit.flush()
    await database.db.updateTable('audit').set({ filed: false }).execute()
    await audit.record(loginOf('bé'), database.db)
    await serviceAt('2026-01-03T10:00:00Z', false).audit.flush()
    const { timestamp } = JSON.parse((await linesIn(LAST))[0] ?? '') as AuditEntry
    await appendFile(join(directory, LAST), `{"timestamp":"${timestamp}","action":"LO`)
    await serviceAt('2026-01-03T10:01:00Z').audit.flush()
    const users = (await linesIn(LAST)).map((line) => (JSON.parse(line) as AuditEntry).user)
    expect(users).toEqual(['a', 'bé'])
  })

  test.each([
    ['a junk line is appended', () => appendFile(join(directory, LAST), 'junk\n'), 'a line is not JSON'],
    ['junk without an end is appended', () => appendFile(join(directory, LAST), 'junk'), 'a line is not JSON'],
    [
      'a megabyte of zeros is appended',
      () => appendFile(join(directory, LAST), Buffer.alloc(1e6)),
      'a line is not JSON',
    ],
    ['an entry is repeated', () => edit(LAST, (lines) => [...lines, ...lines.slice(-1)]), 'is not the entry'],
    [
      'the last entry is removed',
      () => edit(LAST, (lines) => lines.slice(0, -1)),
      'entry 9 and what followed it are gone',
    ],
    ['the first entry is removed', () => edit(LAST, (lines) => lines.slice(1)), 'is not the entry'],
    [
      'an entry is edited',
      () => edit(LAST, (lines) => lines.map((line) => line.replace('LOGIN', 'LOGUP'))),
      'was altered',
    ],
    ['the file is emptied', () => truncate(join(directory, LAST)), 'entry 7 and what followed it are gone'],
    ['the file is removed', () => unlink(join(directory, LAST)), 'entry 7 and what followed it are gone'],
  ])('goes on when %s: the file is written again, and an alert recorded', async (_what, tamper, fault) => {
    await threeDays()
    const sound = await readFile(join(directory, LAST), 'utf8')
    await tamper()
    const changed = await readFile(join(directory, LAST)).catch(() => null)
    const { audit, checkpoints } = serviceAt(`${DAYS[2]}T11:00:00Z`)
    await audit.record(loginOf('next'), database.db)
    await checkpoints.write()

    const aside = (await readdir(directory)).filter((name) => name.includes('.damaged-'))
    expect(aside).toHaveLength(changed === null ? 0 : 1)
    // Not `toEqual`, which takes seconds for a megabyte.
    if (changed !== null) expect((await readFile(join(directory, aside[0] ?? ''))).equals(changed)).toBe(true)
    expect((await readFile(join(directory, LAST), 'utf8')).startsWith(sound)).toBe(true)
    const [next, alert, ...more] = (await linesIn(LAST)).slice(3).map((line) => JSON.parse(line) as AuditEntry)
    expect([next?.user, more]).toEqual(['next', []])
    expect(alert).toMatchObject({ action: 'INTEGRITY_ALERT', result: 'FAILURE', user: 'system' })
    expect(alert?.detail).toContain(fault)
    expect(await faults()).toEqual([])
  })

  test('continues the chain of the files with an empty database', async () => {
    await threeDays()
    await appendFile(join(directory, LAST), 'junk\n')
    await database.db.deleteFrom('audit').execute()
    await database.db.deleteFrom('audit_chain').execute()
    const { audit, checkpoints } = serviceAt(`${DAYS[2]}T12:00:00Z`)
    await audit.record(loginOf('new'), database.db)
    await checkpoints.write()
    const entries = (await linesIn(LAST)).map((line) => JSON.parse(line) as AuditEntry)
    expect(entries.map(({ seq }) => seq)).toEqual([7, 8, 9, 10, 11])
    expect(entries[4]).toMatchObject({ action: 'INTEGRITY_ALERT' })
    expect(await faults()).toEqual([])
  })
})

describe('checkpoints', () => {
  test('are written for the first entry, then once an hour when something happened', async () => {
    const at = async (time: string, user?: string) => {
      const { audit, checkpoints } = serviceAt(time)
      if (user) await audit.record(loginOf(user), database.db)
      await checkpoints.writeWhenDue()
    }
    const seqs = async () => {
      const names = (await readdir(directory)).filter((name) => name.endsWith('.checkpoints')).sort()
      const lines = (await Promise.all(names.map(linesIn))).flat()
      return lines.map((line) => (JSON.parse(line) as { seq: number }).seq)
    }
    await at('2026-01-01T08:00:00Z')
    expect(await seqs()).toEqual([])
    await at('2026-01-01T08:01:00Z', 'a')
    await at('2026-01-01T09:01:00Z')
    expect(await seqs()).toEqual([1])
    await at('2026-01-01T23:01:00Z', 'b')
    await at('2026-01-02T00:00:10Z', 'c')
    expect(await seqs()).toEqual([1, 2, 3])
    expect(await faults()).toEqual([])
  })

  test('are not due twice in an hour for one process', async () => {
    const { audit, checkpoints } = serviceAt('2026-01-01T08:01:00Z')
    for (const user of ['a', 'b']) {
      await audit.record(loginOf(user), database.db)
      await checkpoints.writeWhenDue()
    }
    expect(await linesIn('2026-01-01.checkpoints')).toHaveLength(1)
    await checkpoints.write()
    expect(await linesIn('2026-01-01.checkpoints')).toHaveLength(2)
  })
})

describe('verification', () => {
  test('accepts what the service wrote, and says where it ends', async () => {
    await threeDays()
    const report = await verifyDirectory(directory, { key: KEY, isSigned })
    expect(report).toMatchObject({ entries: 9, files: 3, checkpoints: 6, faults: [], head: { seq: 9 } })
  })

  const CHECKPOINTS = `${DAYS[1]}.checkpoints`
  test.each<[string, () => Promise<unknown>, string[]]>([
    [
      'the first line removed',
      () => edit('2026-01-01.jsonl', (lines) => lines.slice(1)),
      ['2026-01-01.jsonl:1 entry 1 is missing before it'],
    ],
    [
      'the first day removed',
      () => unlink(join(directory, '2026-01-01.jsonl')),
      ['2026-01-02.jsonl:1 entries 1 to 3 are missing before it'],
    ],
    [
      'a line between removed',
      () => edit('2026-01-02.jsonl', (lines) => lines.toSpliced(1, 1)),
      ['2026-01-02.jsonl:2 entry 5 is missing before it'],
    ],
    [
      'a whole day removed',
      () => unlink(join(directory, '2026-01-02.jsonl')),
      ['2026-01-03.jsonl:1 entries 4 to 6 are missing before it'],
    ],
    [
      'the last line removed',
      () => edit(LAST, (lines) => lines.slice(0, -1)),
      [
        `${LAST}:2 ends with entry 8; entries 9 to 9 are missing, which the checkpoint of 2026-01-03T10:00:00.000+00:00 names`,
      ],
    ],
    [
      'the last day removed',
      () => unlink(join(directory, LAST)),
      ['2026-01-02.jsonl:3 ends with entry 6; entries 7 to 9 are missing'],
    ],
    [
      'all lines removed',
      async () => Promise.all(DAYS.map((day) => truncate(join(directory, `${day}.jsonl`)))),
      ['no entry ends with entry 0; entries 1 to 9 are missing'],
    ],
    [
      'all entry files removed',
      async () => Promise.all(DAYS.map((day) => unlink(join(directory, `${day}.jsonl`)))),
      ['no entry ends with entry 0; entries 1 to 9 are missing'],
    ],
    [
      'all files removed',
      async () => Promise.all((await readdir(directory)).map((name) => unlink(join(directory, name)))),
      ['holds no checkpoint'],
    ],
    [
      'a value changed',
      () =>
        edit('2026-01-01.jsonl', (lines) =>
          lines.map((line, i) => (i === 1 ? line.replace('SUCCESS', 'FAILURE') : line)),
        ),
      ['2026-01-01.jsonl:2 was altered: its hash does not fit', '2026-01-01.jsonl:3 entry 2 is missing before it'],
    ],
    [
      'a key written twice',
      () =>
        edit('2026-01-01.jsonl', (lines) =>
          lines.map((line, i) => (i === 1 ? line.replace('{', '{"user":"someone",') : line)),
        ),
      ['2026-01-01.jsonl:2 is not in the form the service writes', '2026-01-01.jsonl:3 entry 2'],
    ],
    [
      'a key of extra written twice',
      () =>
        edit('2026-01-01.jsonl', (lines) =>
          lines.map((line, i) => (i === 1 ? line.replace('"extra":{', '"extra":{"a":"x",') : line)),
        ),
      ['2026-01-01.jsonl:2 is not in the form', '2026-01-01.jsonl:3 entry 2'],
    ],
    [
      'spacing added',
      () => edit('2026-01-01.jsonl', (lines) => lines.map((line, i) => (i === 1 ? `${line} ` : line))),
      ['2026-01-01.jsonl:2 is not in the form', '2026-01-01.jsonl:3 entry 2'],
    ],
    ['junk appended', () => appendFile(join(directory, LAST), 'junk\n'), [`${LAST}:4 is not JSON`]],
    ['half a line appended', () => appendFile(join(directory, LAST), '{"timestamp'), [`${LAST}:4 ends within a line`]],
    ['a list appended', () => appendFile(join(directory, LAST), '[]\n'), [`${LAST}:4 is not an audit entry`]],
    ['null appended', () => appendFile(join(directory, LAST), 'null\n'), [`${LAST}:4 is not an audit entry`]],
    [
      'a line repeated',
      () => edit(LAST, (lines) => [...lines, lines[2] as string]),
      [`${LAST}:4 is entry 9, where entry 10 was expected`],
    ],
    [
      'two lines exchanged',
      () => edit(LAST, ([a, b, c]) => [b, a, c] as string[]),
      [`${LAST}:1 entry 7 is missing before it`, `${LAST}:2 is entry 7`, `${LAST}:3 entry 8 is missing before it`],
    ],
    [
      'a line removed and the rest hashed again',
      () => hashAgain((entries) => entries.toSpliced(3, 1)),
      ['2026-01-02.jsonl:1 has a wrong mac'],
    ],
    [
      'a value changed and the rest hashed again',
      () => hashAgain((entries) => entries.map((entry) => ({ ...entry, user: 'x' }))),
      ['2026-01-01.jsonl:1 has a wrong mac'],
    ],
    [
      'the chain hashed again without macs',
      () => hashAgain((entries) => entries.slice(1).map((entry) => ({ ...entry, mac: null }))),
      ['2026-01-01.jsonl:1 has no mac'],
    ],
    [
      'the chain hashed again with another key',
      () => hashAgain((entries) => entries.slice(1), 'another key'),
      ['2026-01-01.jsonl:1 has a wrong mac'],
    ],
    [
      'all checkpoints removed',
      async () => Promise.all(DAYS.map((day) => unlink(join(directory, `${day}.checkpoints`)))),
      ['holds no checkpoint'],
    ],
    [
      'a checkpoint removed',
      () => edit(CHECKPOINTS, (lines) => lines.slice(1)),
      [`${CHECKPOINTS}:1 does not follow the checkpoint before it`],
    ],
    [
      'the checkpoints of a day removed',
      () => unlink(join(directory, CHECKPOINTS)),
      [`${DAYS[2]}.checkpoints:1 does not follow the checkpoint before it`],
    ],
    [
      'a checkpoint edited',
      () => edit(CHECKPOINTS, (lines) => lines.map((line, i) => (i === 0 ? line.replace('"seq":5', '"seq":4') : line))),
      [`${CHECKPOINTS}:1 was altered`, `${CHECKPOINTS}:2 does not follow`],
    ],
    [
      'a signature removed',
      () => edit(CHECKPOINTS, (lines) => lines.map((line) => line.replace(/"signature":"[^"]*"/, '"signature":""'))),
      [`${CHECKPOINTS}:1 was altered`, `${CHECKPOINTS}:2 was altered`],
    ],
    [
      'a checkpoint allowing entries without mac',
      () => edit(CHECKPOINTS, (lines) => lines.map((line) => line.replace('"unkeyed":0', '"unkeyed":9'))),
      [`${CHECKPOINTS}:1 was altered`, `${CHECKPOINTS}:2 was altered`],
    ],
    [
      'junk among the checkpoints',
      () => edit(CHECKPOINTS, (lines) => ['junk', ...lines]),
      [`${CHECKPOINTS}:1 was altered`, `${CHECKPOINTS}:2 does not follow`],
    ],
  ])('finds %s', async (_what, tamper, expected) => {
    await threeDays()
    await tamper()
    const found = await faults()
    for (const [i, sentence] of expected.entries()) expect(found[i]).toContain(sentence)
  })

  test('finds a chain that was hashed again, without the key too, by its checkpoints', async () => {
    await threeDays()
    await hashAgain((entries) => entries.map((entry) => ({ ...entry, user: 'x' })))
    expect((await faults(null))[0]).toContain(
      '2026-01-01.jsonl:2 is not the entry 2 that the checkpoint of 2026-01-01T09:00:00.000+00:00 names',
    )
  })

  test('finds files and checkpoints cut to an earlier state by the head that the database keeps', async () => {
    await threeDays()
    const earlier = await mkdtemp(join(tmpdir(), 'gatehouse-audit-'))
    await cp(directory, earlier, { recursive: true })
    for (const name of [LAST, `${DAYS[2]}.checkpoints`]) await unlink(join(earlier, name))
    const head = await filedHead(database.db)
    const anchors = head ? [{ ...head, source: 'the database' }] : []
    expect((await verifyDirectory(earlier, { key: KEY, isSigned })).faults).toEqual([])
    expect((await verifyDirectory(earlier, { key: KEY, isSigned, anchors })).faults).toEqual([
      {
        where: '2026-01-02.jsonl:3',
        what: 'ends with entry 6; entries 7 to 9 are missing, which the database names',
      },
    ])
    await rm(earlier, { recursive: true })
  })

  test('accepts an export, whole or of a time span, and finds what was removed from it', async () => {
    await threeDays()
    const path = join(directory, 'audit.jsonl')
    for (const [span, entries] of [
      [{}, 9],
      [{ from: new Date('2026-01-02'), to: new Date('2026-01-03') }, 3],
    ] as const) {
      const text = (await entriesAfter(database.db, span, null, 100)).map(lineOf).join('')
      await writeFile(path, text)
      expect(await verifyFile(path, 'audit.jsonl', { key: KEY, isSigned })).toMatchObject({ entries, faults: [] })
      await writeFile(path, text.split('\n').toSpliced(1, 1).join('\n'))
      const { faults: found } = await verifyFile(path, 'audit.jsonl', { key: KEY, isSigned })
      expect(found).toMatchObject([{ where: 'audit.jsonl:2', what: expect.stringMatching(/missing before it/) }])
      await writeFile(path, text.replace(/("mac":)"[^"]*"/, '$1null'))
      const { faults: unproven } = await verifyFile(path, 'audit.jsonl', { key: KEY, isSigned })
      expect(unproven).toMatchObject([{ where: 'audit.jsonl:1', what: expect.stringMatching(/^has no mac/) }])
    }
  })
})
