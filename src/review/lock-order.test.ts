// Transactions on records of several distributions, while others insert into these: they never wait for each other in a circle.
// Changes of one record or decision at the same moment: the second sees what the first did.
// Runs on PGlite, where transactions take turns, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, lockAwaited } from '../../test/database.ts'
import type { AuditEvent } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import { factsToMatch, type PackageFacts } from '../domain/package.ts'
import type { PackageStatus } from '../domain/status.ts'
import type { Settings } from '../domain/settings.ts'
import { findDistribution } from '../formats/index.ts'
import { deleteRecords } from '../packages/records/delete-records.ts'
import { insertTogether, type NewRecord } from '../packages/records/insert-records.ts'
import { renderEntries } from '../packages/records/entries.ts'
import { blobRow } from '../packages/records/stored-file.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Database } from '../store/db.ts'
import { assignDecision, assignHeld } from './assign.ts'
import { decideHeld } from './decide.ts'
import type { DecideDeps, DecidedHere } from './decide-one.ts'
import { replaceDecision, revokeDecision } from './decisions.ts'
import { systemActor } from './deps.ts'
import type { Check } from './lock-decision.ts'
import { readPlan } from './plan.ts'
import { quarantine } from './quarantine.ts'
import { revertDecisions } from './revert.ts'

const NOW = new Date('2026-03-01T12:00:00.000Z')
/** In locking order. */
const CODENAMES = ['jammy', 'noble'] as const
const REASON = { decision: 'approve', justification: 'a reason that is long enough' } as const
const offeredOf = (codename: string) => findDistribution(codename)!

let database: Database
let audited: string[]
/** called in the transaction that audits, before it goes on */
let onAudit: (event: AuditEvent) => Promise<void>

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  audited = []
  onAudit = async () => {}
  await sql`truncate distributions, blobs, packages, offers, offer_entries, offer_entry_pieces, package_counts, finding_counts, artifacts, audit cascade`.execute(
    database.db,
  )
  for (const codename of CODENAMES)
    await database.db.insertInto('distributions').values({ codename, format: 'deb', definition: '{}' }).execute()
})
afterAll(() => database.close())

const audit = {
  async record(events: AuditEvent | readonly AuditEvent[]) {
    for (const event of [events].flat()) {
      audited.push(`${event.action} ${event.distribution} ${event.version}`)
      await onAudit(event)
    }
  },
} as AuditLog

function deps(): DecideDeps {
  const nothing = () => Promise.resolve()
  return {
    ...{ db: database.db, audit, clock: { now: () => NOW }, checkpoint: () => {}, bus: { emit: () => {} } },
    settings: () => ({ security: {}, cve_policy: {} }) as unknown as Settings,
    ...{ offered: offeredOf, manifests: { write: nothing }, pendingDeletions: { run: nothing } },
    publisher: { converge: nothing, removeUnpublished: nothing },
    onError: (error: unknown) => {
      throw error
    },
  } as unknown as DecideDeps
}

function newRecord(distribution: string, version: string, status: PackageStatus): NewRecord {
  const digest = (algorithm: string) => createHash(algorithm).update(`${distribution} ${version}`).digest('hex')
  const facts: PackageFacts = {
    ...factsToMatch({ format: 'deb', name: 'x', version, arch: 'amd64', sourcePackage: null, sourceVersion: null }),
    record: { fields: [] },
  }
  const digests = { sha256: digest('sha256'), sha512: digest('sha512'), sha1: digest('sha1'), md5: digest('md5') }
  const blob = blobRow({ digests, filename: `x_${version}_amd64.deb`, sizeBytes: 100 }, facts, NOW)
  const stored = { ...blob, facts, files: new Uint8Array(blob.files) }
  return {
    ...{ blob, evidence: [], ensureBytes: async () => {} },
    entries: status === 'published' ? renderEntries({ imported_at: NOW }, stored, offeredOf(distribution)) : [],
    audit: { action: 'UPLOAD', result: 'SUCCESS', user: 'a', distribution, version },
    review: status === 'published' ? null : { review_origin: 'upload', review_since: NOW },
    record: {
      ...{ distribution, format: 'deb', name: 'x', version, arch: 'amd64', status, cve_status: 'approved' },
      ...{
        held_reason: status === 'published' ? null : 'unscanned',
        sha256: blob.sha256,
        received_sha256: blob.sha256,
      },
      ...{ imported_at: NOW, imported_by: 'a', import_method: 'upload', pipeline: '{}', validation_steps: '[]' },
      ...{ coverage: '{}', deps_missing: '[]', tags: '[]' },
    },
  }
}

/** In a transaction without retries, so that its error is seen. */
async function insert(distribution: string, version: string, status: PackageStatus): Promise<void> {
  const record = newRecord(distribution, version, status)
  await database.db
    .transaction()
    .execute((tx) => insertTogether(tx, audit, offeredOf(distribution), [record], new Map()))
}

/** Each change, and the records it is about. */
const CHANGES: [string, PackageStatus, string, () => Promise<unknown>][] = [
  ['a quarantine', 'published', 'QUARANTINE', () => quarantine(deps(), { name: 'x' }, null, systemActor('system'))],
  ['a decision', 'pending_review', 'SECURITY_DECISION', () => approve()],
  ['a deletion', 'published', 'DELETE', () => remove()],
]

async function records() {
  return database.db.selectFrom('records').selectAll().where('version', '=', '1.0').orderBy('id', 'desc').execute()
}

async function approve(): Promise<DecidedHere[]> {
  return decideHeld(deps(), await records(), readPlan(REASON), systemActor('system'))
}

async function remove(): Promise<unknown> {
  const ids = (await records()).map(({ id }) => id)
  return deleteRecords(database.db, audit, ids, {
    offeredOf: (row) => offeredOf(row.distribution),
    manifestKey: (row) => String(row.id),
    auditOf: ({ distribution, version }) => ({ action: 'DELETE', result: 'SUCCESS', user: 'a', distribution, version }),
  })
}

test.each(CHANGES)(
  '%s in two distributions and an upload of the name into the second: both are done, each at its first try',
  async (_, status, action, work) => {
    for (const codename of CODENAMES) await insert(codename, '1.0', status)
    audited = []
    let uploaded = Promise.resolve()
    onAudit = async (event) => {
      if (event.action !== action) return
      onAudit = async () => {}
      // By now the upload has all the locks that it can get.
      uploaded = insert('noble', '2.0', 'published')
      await lockAwaited(database)
    }
    await work()
    await uploaded
    expect(audited.sort()).toEqual([`${action} jammy 1.0`, `${action} noble 1.0`, 'UPLOAD noble 2.0'].sort())
  },
)

test('approvals that are taken back lock both distributions before the name', async () => {
  for (const codename of CODENAMES) await insert(codename, '1.0', 'pending_review')
  const decided = await approve()
  audited = []
  let uploaded = Promise.resolve()
  onAudit = async (event) => {
    if (event.action !== 'PUBLISH_FAILURE') return
    onAudit = async () => {}
    uploaded = insert('noble', '2.0', 'published')
    await lockAwaited(database)
  }
  await revertDecisions(deps(), decided, systemActor('system'), new Error('no index'))
  await uploaded
  expect(audited.sort()).toEqual(['PUBLISH_FAILURE jammy 1.0', 'PUBLISH_FAILURE noble 1.0', 'UPLOAD noble 2.0'])
})

/** Begins `second` inside the transaction of `first`. @returns the code of the second's problem; null for success */
async function both(first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<string | null> {
  let ended = Promise.resolve<string | null>('never begun')
  onAudit = async () => {
    onAudit = async () => {}
    ended = second().then(
      () => null,
      (error: Problem) => error.code,
    )
    await lockAwaited(database)
  }
  await first()
  return ended
}

async function maintainer(): Promise<string> {
  const user = { username: 'ada', username_key: 'ada', password_hash: null, role: 'maintainer' as const }
  await database.db
    .insertInto('users')
    .values({ ...user, created_at: NOW })
    .onConflict((c) => c.doNothing())
    .execute()
  return user.username
}

test('a package that is being decided is not assigned any more', async () => {
  await insert('noble', '1.0', 'pending_review')
  const to = await maintainer()
  const assign = () => assignHeld(deps(), { name: 'x' }, to, systemActor('system'))
  expect(await both(approve, assign)).toBe('not_under_review')
  const id = (await records())[0]!.id
  expect(await database.db.selectFrom('reviews').select('assigned_to').where('package_id', '=', id).execute()).toEqual([
    { assigned_to: null },
  ])
})

/** Of a decision that nobody assigned since it was read. */
const unassigned: Check = (before) => {
  if (before.assigned_to !== null) throw new Problem('changed_meanwhile', 'it is assigned')
}

test.each([
  ['replaces', (id: number) => replaceDecision(deps(), id, REASON, systemActor('system'), unassigned)],
  ['revokes', (id: number) => revokeDecision(deps(), id, null, systemActor('system'), unassigned)],
])('who %s a decision that is being assigned learns of it', async (_, change) => {
  await insert('noble', '1.0', 'pending_review')
  const to = await maintainer()
  const id = (await approve())[0]!.decision.id
  const assign = () => assignDecision(deps(), id, to, systemActor('system'))
  expect(await both(assign, () => change(id))).toBe('changed_meanwhile')
  const row = await database.db.selectFrom('decisions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  expect(row).toMatchObject({ active: true, assigned_to: to })
})
