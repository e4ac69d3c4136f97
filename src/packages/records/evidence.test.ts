// Evidence about a record: the same evidence keeps its row, different evidence gets another row, and findings are stored once.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { NewAdvisory } from '../../domain/advisory-store.ts'
import type { Seen } from '../../domain/evidence.ts'
import { createAdvisories } from '../../store/advisories/advisories.ts'
import type { Db, Database } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { finding, insertRecord } from '../documents/fixture.ts'
import { copyEvidence, insertEvidence, noteEvidence, type Judged } from './evidence.ts'
import { unpackFound } from '../../domain/stored-evidence.ts'
import { evidenceOf } from './evidence-query.ts'

const at = (day: number) => new Date(`2026-03-0${day}T00:00:00Z`)
let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

const scanned = (date: string, severity: 'High' | 'Low', about = 'curl', more: Partial<Seen> = {}): Seen => ({
  ...{ check: 'cve_scan', result: 'scanned', message: 'one' },
  findings: [finding('CVE-1', { severity, package_name: about, package_version: '1.0-1', first_seen: date })],
  coverage: {
    ...{ engine: 'osv', engine_version: null, database_date: date, distro_matched: null, files_seen: 1 },
    ...{ files_skipped: [], bytes: 0 },
  },
  ...more,
})
const inTransaction = <T>(work: (tx: Db) => Promise<T>) => transaction(database.db, work)
/** The rows as they are listed, each with its findings as they are kept. */
async function shown(record: Judged) {
  const kept = await database.db
    .selectFrom('evidence as e')
    .leftJoin('finding_sets as s', 's.digest', 'e.findings')
    .select(['e.kind', 'e.at', 's.findings'])
    .where('e.package_id', '=', record.id)
    .execute()
  return (await evidenceOf(database.db, record.id)).map(({ kind, data_version, at, last_at, replaced_at }) => {
    const row = kept.find((one) => one.kind === kind && one.at.getTime() === at.getTime())
    return [
      ...[kind, data_version, at.getUTCDate(), last_at.getUTCDate(), replaced_at?.getUTCDate() ?? null],
      unpackFound(row?.findings ?? [], record)
        .map((one) => `${one.package_name} ${one.severity}`)
        .join(),
    ]
  })
}

test('the same again moves the time and the version of the data, something else is another row', async () => {
  const curl = await insertRecord(database.db, { name: 'curl' })
  const signed: Seen = { check: 'gpg', result: 'signed', received: 'unsigned', message: '' }
  await inTransaction((tx) =>
    insertEvidence(tx, [{ record: curl, seen: [scanned('2026-03-01', 'Low'), signed] }], at(1)),
  )
  await inTransaction((tx) => noteEvidence(tx, curl, [scanned('2026-03-02', 'Low')], at(2)))
  await inTransaction((tx) => noteEvidence(tx, curl, [scanned('2026-03-03', 'High')], at(3)))
  await inTransaction((tx) => noteEvidence(tx, curl, [scanned('2026-03-04', 'High')], at(4)))
  expect(await shown(curl)).toEqual([
    ['cve_scan', '2026-03-04', 3, 4, null, 'curl High'],
    ['gpg', null, 1, 1, null, ''],
    ['cve_scan', '2026-03-02', 1, 2, 3, 'curl Low'],
  ])
})

test('packages that share their findings share one set of them', async () => {
  const sets = () => database.db.selectFrom('finding_sets').select('digest').execute()
  const before = (await sets()).length
  const [one, two] = [
    await insertRecord(database.db, { name: 'lib-one' }),
    await insertRecord(database.db, { name: 'lib-two' }),
  ]
  const epss = { epss: 0.5 }
  const seenOf = (name: string): Seen => {
    const seen = scanned('2026-03-01', 'Low', name)
    return { ...seen, findings: seen.findings!.map((found) => ({ ...found, ...epss })) }
  }
  await inTransaction((tx) =>
    insertEvidence(
      tx,
      [one, two].map((record) => ({ record, seen: [seenOf(record.name)] })),
      at(1),
    ),
  )
  expect((await sets()).length).toBe(before + 1)
  expect([await shown(one), await shown(two)]).toEqual([
    [['cve_scan', '2026-03-01', 1, 1, null, 'lib-one Low']],
    [['cve_scan', '2026-03-01', 1, 1, null, 'lib-two Low']],
  ])
})

test('kernels with thousands of findings are stored together', async () => {
  const records: Judged[] = []
  for (let n = 0; n < 20; n++) records.push(await insertRecord(database.db, { name: `linux-${n}` }))
  const description = 'x'.repeat(200)
  const findingsOf = (n: number) =>
    Array.from({ length: 3000 }, (_, i) => finding(`CVE-2026-${i}`, { description, epss: n / 1000 }))
  const seen = records.map((record, n) => ({
    record,
    seen: [{ check: 'cve_scan', result: 'scanned' as const, message: '', findings: findingsOf(n) }],
  }))
  await inTransaction((tx) => insertEvidence(tx, seen, at(1)))
  const rows = await evidenceOf(database.db, records.at(-1)!.id)
  expect(rows).toMatchObject([{ kind: 'cve_scan', body: { severities: { high: 3000, low: 0 } } }])
})

test('a copy takes over what was not looked at again', async () => {
  const source = await insertRecord(database.db, { name: 'source' })
  const copy = await insertRecord(database.db, { name: 'source', distribution: 'noble' })
  const clean: Seen = { check: 'antivirus', result: 'clean', message: '' }
  await inTransaction((tx) =>
    insertEvidence(tx, [{ record: source, seen: [clean, scanned('2026-03-01', 'Low', 'source')] }], at(1)),
  )
  await inTransaction((tx) =>
    insertEvidence(tx, [{ record: copy, seen: [scanned('2026-03-02', 'High', 'source')] }], at(2)),
  )
  await inTransaction((tx) => copyEvidence(tx, [{ from: source.id, to: copy.id }]))
  expect((await shown(copy)).sort()).toEqual([
    ['antivirus', null, 1, 1, null, ''],
    ['cve_scan', '2026-03-02', 2, 2, null, 'source High'],
  ])
})

test.each([
  ['with the advisories in force', 3, false],
  ['with earlier ones', 2, true],
  ['without any', null, false],
])('what was matched %s', async (name, generation, behind) => {
  await database.db.updateTable('advisory_state').set({ generation: 3 }).execute()
  const record = await insertRecord(database.db, { name })
  await inTransaction((tx) =>
    insertEvidence(tx, [{ record, seen: [scanned('2026-03-01', 'Low', name, { generation })] }], at(1)),
  )
  const row = await database.db
    .selectFrom('evidence')
    .select('behind')
    .where('package_id', '=', record.id)
    .executeTakeFirst()
  expect(row).toEqual({ behind })
})

// The embedded database has one session, so nothing can wait for another one.
test.runIf(process.env['TEST_DATABASE_URL'])(
  'newer advisories come into force after the records that are being stored, or before they are',
  async () => {
    const { db } = database
    const record = await insertRecord(db, { name: 'contested' })
    const store = createAdvisories({ db, clock: { now: () => at(1) } })
    const { generation } = await store.state()
    const under = await store.begin('test')
    await under.put([ADVISORY])
    let stored!: () => void
    const storing = new Promise<void>((resolve) => (stored = resolve))
    const order: string[] = []
    const insert = inTransaction(async (tx) => {
      await insertEvidence(tx, [{ record, seen: [scanned('2026-03-01', 'Low', 'contested', { generation })] }], at(1))
      stored()
      await waitedFor(db)
      order.push('stored')
    })
    await storing
    const finish = under.finish({ digest: 'd', advisories: 1, keep: () => true }).then(() => order.push('in force'))
    await Promise.all([insert, finish])
    expect(order).toEqual(['stored', 'in force'])
    const rows = await db.selectFrom('evidence').select('behind').where('package_id', '=', record.id).execute()
    // The match that follows the import sees the record.
    expect(rows).toEqual([{ behind: false }])
    await inTransaction((tx) =>
      noteEvidence(tx, record, [scanned('2026-03-01', 'Low', 'contested', { generation })], at(2)),
    )
    expect(await db.selectFrom('evidence').select('behind').where('package_id', '=', record.id).execute()).toEqual([
      { behind: true },
    ])
  },
)

/** Resolves when a session waits for a lock. */
async function waitedFor(db: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`.execute(db)
    if ((rows[0]?.n ?? 0) > 0) return
  }
}

const ADVISORY: NewAdvisory = {
  ...{ digest: 'd', source: 's' },
  advisory: {
    ...{ id: 'TEST-1', modified: '2026-03-01T00:00:00Z', withdrawn: null, severity: 'High', cvss: null, summary: null },
    ...{ cves: [], aliases: [], urls: [], notes: {}, security: true },
  },
  affected: [
    {
      ...{ ecosystem: 'Ubuntu', package: 'contested', ranges: [], versions: [], severity: null, cvss: null },
      ...{ wontFix: false, stream: null },
    },
  ],
}
