// Packages held only because a scanner was missing are judged as on arrival, once the scanner is there.
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { Problem } from '../domain/problem.ts'
import type { Seen } from '../domain/evidence.ts'
import type { Finding } from '../domain/finding.ts'
import type { Settings } from '../domain/settings.ts'
import type { HeldReason, PipelineKey } from '../domain/status.ts'
import type { TaskContext } from '../domain/tasks.ts'
import { findDistribution } from '../formats/index.ts'
import type { StepResult } from '../gate/step.ts'
import { finding, insertRecord } from '../packages/documents/fixture.ts'
import type { Database } from '../store/db.ts'
import { createPool, type LocalPool } from '../store/files/pool.ts'
import { createStaging, type Staging } from '../store/files/staging.ts'
import { createPaths, ensurePaths, type Paths } from '../store/paths.ts'
import { insertDecision } from '../packages/records/decisions.ts'
import { tally } from '../packages/records/counters.ts'
import { systemActor } from './deps.ts'
import { judgeAgainKind, type JudgeDeps } from './judge-again.ts'
import { rescan } from './rescan.ts'

const now = new Date('2026-03-05T00:00:00Z')
const policy = { critical: 'block', high: 'review', medium: 'warn', sla_critical_days: 0, sla_high_days: 7 }
const seen = (result: Seen['result'], findings: Finding[] = []): StepResult['seen'] => ({
  ...{ result, message: result },
  findings: findings.map(({ action: _, ...found }) => found),
})
const PASSING: Record<PipelineKey, StepResult> = {
  antivirus: { seen: seen('clean') },
  cve_scan: { seen: seen('scanned') },
  gpg: { seen: seen('signed') },
  dependencies: { seen: seen('satisfied'), missing: [] },
}

let database: Database
let paths: Paths
let pool: LocalPool
let staging: Staging
let audited: { action: string; outcome?: string; user?: string }[]
let published: string[]
let publishFails: boolean
let steps: Partial<Record<PipelineKey, StepResult>>
let scans: PipelineKey[]

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  const { db } = database
  paths = createPaths(await mkdtemp(join(tmpdir(), 'judge-again-')))
  await ensurePaths(paths, [])
  pool = createPool(paths)
  staging = createStaging({ db, clock: { now: () => now }, paths, pool, exclusive: true })
  await staging.register()
  ;[audited, published, publishFails, steps, scans] = [[], [], false, {}, []]
})
afterEach(async () => {
  for (const table of ['pending_deletions', 'package_counts', 'finding_counts', 'audit', 'offers', 'packages'] as const)
    await database.db.deleteFrom(table).execute()
  await database.db.deleteFrom('blobs').execute()
  await database.db.deleteFrom('distributions').execute()
  await rm(paths.root, { recursive: true })
})
afterAll(() => database.close())

function deps(): JudgeDeps {
  const nothing = () => Promise.resolve()
  return {
    db: database.db,
    clock: { now: () => now },
    engines: ['osv'],
    settings: () =>
      ({ validation: { on_unscanned: 'hold', on_uninstallable: 'hold' }, cve_policy: policy }) as unknown as Settings,
    offered: findDistribution,
    steps: (['antivirus', 'cve_scan', 'gpg', 'dependencies'] as const).map((key) => ({
      ...{ key, label: key },
      run: () => {
        scans.push(key)
        return Promise.resolve(steps[key] ?? PASSING[key])
      },
    })),
    audit: { record: (event: (typeof audited)[number]) => Promise.resolve(void audited.push(event)) },
    ...{ staging, pool, checkpoint: () => {}, bus: { emit: () => {} }, manifests: { write: nothing } },
    publisher: {
      removeUnpublished: nothing,
      converge: (codename: string) => {
        published.push(codename)
        return publishFails ? Promise.reject(new Problem('publication_failed', 'no')) : nothing()
      },
    },
    pendingDeletions: { run: nothing },
    onError: (error: unknown) => {
      throw error
    },
  } as unknown as JudgeDeps
}

/** A record as production without a malware scanner held it. */
async function held(
  name: string,
  pipeline: object = { antivirus: 'error', cve_scan: 'no_findings' },
  reason: HeldReason = 'unscanned',
) {
  const { db } = database
  const row = await insertRecord(db, {
    name,
    distribution: 'jammy',
    status: 'pending_review',
    pipeline: pipeline as never,
  })
  await sql`update blobs set facts = jsonb_set(facts, '{record}', '{"fields":[]}') where sha256 = ${row.sha256}`.execute(
    db,
  )
  await db.updateTable('packages').set({ held_reason: reason }).where('id', '=', row.id).execute()
  await db.insertInto('reviews').values({ package_id: row.id, review_origin: 'upload', review_since: now }).execute()
  const received = staging.newPath()
  await writeFile(received, name)
  await pool.keep(received, row)
  await rm(received)
  await tally(db, [row.id], 1)
  return row
}
const stateOf = (name: string) =>
  database.db.selectFrom('records').selectAll().where('name', '=', name).executeTakeFirstOrThrow()

async function runTask() {
  const lines: string[] = []
  const context = {
    ...{ cursor: null, signal: new AbortController().signal, arguments: {} },
    line: (text: string) => void lines.push(text),
    save: () => Promise.resolve(),
  } as unknown as TaskContext
  return { ...(await judgeAgainKind(deps()).run(context)), lines }
}

test('a package that every step lets pass now is published by the task and by a rescan, and that is audited', async () => {
  await held('one')
  await held('two')
  expect(await runTask()).toMatchObject({ published: 2, held: 0, failed: 0 })
  await held('three')
  expect(await rescan(deps(), { name: 'three' }, systemActor('system'))).toMatchObject([
    { previous_status: 'pending_review', new_status: 'published' },
  ])
  for (const name of ['one', 'two', 'three']) {
    const row = await stateOf(name)
    expect(row).toMatchObject({
      ...{ status: 'published', served: true, held_reason: null, review_due_at: null, cve_status: 'approved' },
      pipeline: { antivirus: 'clean', cve_scan: 'no_findings', gpg: 'signed', dependencies: 'satisfied' },
    })
    expect((row.validation_steps as { name: string }[]).map((step) => step.name)).toContain('publication')
  }
  expect(published).toEqual(['jammy', 'jammy', 'jammy'])
  expect(audited).toMatchObject(
    ['scheduler', 'scheduler', 'system'].map((user) => ({ action: 'RESCAN', outcome: 'published', user })),
  )
  expect(await readdir(join(paths.incoming, staging.instanceId))).toEqual([])
})

test.each<[string, Partial<Record<PipelineKey, StepResult>>, object]>([
  [
    'a finding for review',
    {
      cve_scan: {
        seen: seen('scanned', [finding('CVE-2026-1', { severity: 'High', action: 'review' })]),
      },
    },
    { status: 'pending_review', served: false, held_reason: 'cve_review' },
  ],
  [
    'what it would break',
    { dependencies: { seen: seen('breaks_others') } },
    { status: 'pending_review', served: false, held_reason: 'breaks_others' },
  ],
  [
    'a limit of the scanner',
    { antivirus: { seen: seen('limited') } },
    { status: 'pending_review', served: false, held_reason: 'unscanned' },
  ],
  ['an infection', { antivirus: { seen: seen('infected') } }, { status: 'quarantined', served: false }],
  [
    'the policy',
    {
      cve_scan: {
        seen: seen('scanned', [finding('CVE-2026-1', { severity: 'Critical' })]),
      },
    },
    { status: 'quarantined', served: false },
  ],
])('%s keeps it from being published, and it is not scanned again every hour', async (_what, results, expected) => {
  await held('one')
  steps = results
  expect(await runTask()).toMatchObject({ published: 0, held: 1, failed: 0 })
  expect(await stateOf('one')).toMatchObject(expected)
  expect(published).toEqual([])
  scans = []
  expect(await runTask()).toMatchObject({ published: 0, held: 0 })
  expect(scans).toEqual([])
})

test.each<[string, Partial<Record<PipelineKey, StepResult>>]>([
  ['no malware scanner', { antivirus: { seen: seen('error') } }],
  ['malware scanning switched off since', { antivirus: { seen: seen('skipped') } }],
  ['a vulnerability scanner that fails', { cve_scan: { seen: seen('error') } }],
])('with %s still, nothing changes and the task ends at the first of them', async (_what, results) => {
  await held('one')
  await held('two')
  steps = results
  expect(await runTask()).toMatchObject({
    published: 0,
    held: 0,
    lines: ['a scanner is missing still', expect.any(String)],
  })
  expect(scans.filter((key) => key === 'cve_scan')).toHaveLength(1)
  expect(await stateOf('one')).toMatchObject({
    status: 'pending_review',
    held_reason: 'unscanned',
    pipeline: { antivirus: 'error' },
  })
  expect(audited).toEqual([])
})

test('a package that is held for another reason, or that somebody decided about, is left to people', async () => {
  await held('reviewed', { antivirus: 'error' }, 'cve_review')
  const waiting = await held('waiting')
  await insertDecision(database.db, waiting, {
    ...{ decision: null, action: 'upgrade_required', status: 'pending_review', previous_status: 'pending_review' },
    ...{ justification: 'wait', decided_by: 'somebody', decided_at: now, expires_in_days: null, expires_at: null },
    ...{ target_version: '2', covers: '[]', policy_snapshot: '{}', assigned_to: null, assigned_at: null },
    ...{ resolved_at: null, resolved_by: null, resolution_note: null },
  } as never)
  await held('free')
  expect(await runTask()).toMatchObject({ published: 1, held: 1 })
  expect((await stateOf('reviewed')).status).toBe('pending_review')
  expect((await stateOf('waiting')).status).toBe('pending_review')
  expect((await stateOf('free')).status).toBe('published')
})

test('a package that cannot be published is held as before', async () => {
  await held('one')
  publishFails = true
  expect(await runTask()).toMatchObject({ published: 0, failed: 1 })
  expect(await stateOf('one')).toMatchObject({
    status: 'pending_review',
    served: false,
    held_reason: 'unscanned',
    review_origin: 'upload',
  })
  expect(audited.map(({ action }) => action)).toEqual(['RESCAN', 'PUBLISH_FAILURE'])
})
