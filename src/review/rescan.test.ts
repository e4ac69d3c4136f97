// A rescan that clears a quarantined package and replaces its file by a signed copy, and two rescans at the same time.
import { access, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Finding } from '../domain/finding.ts'
import type { Settings } from '../domain/settings.ts'
import type { PipelineKey } from '../domain/status.ts'
import { findDistribution } from '../formats/index.ts'
import type { StepResult } from '../gate/step.ts'
import { measure } from '../kernel/digests.ts'
import { finding, insertRecord } from '../packages/documents/fixture.ts'
import { createAuditLog } from '../audit/log.ts'
import type { Database } from '../store/db.ts'
import { createPool, type LocalPool } from '../store/files/pool.ts'
import { createStaging, type Staging } from '../store/files/staging.ts'
import { createPaths, ensurePaths, type Paths } from '../store/paths.ts'
import { tally } from '../packages/records/counters.ts'
import type { PackageRow } from '../store/tables.ts'
import { systemActor } from './deps.ts'
import { rescan, type RescanDeps } from './rescan.ts'

const clock = { now: () => new Date('2026-03-05T00:00:00Z') }
const policy = { critical: 'review', sla_critical_days: 0, sla_high_days: 7, sla_medium_days: 30 }

let database: Database
let paths: Paths
let pool: LocalPool
let staging: Staging
let row: PackageRow
let audited: string[]
let auditFails: boolean

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  const { db } = database
  paths = createPaths(await mkdtemp(join(tmpdir(), 'rescan-')))
  await ensurePaths(paths, [])
  pool = createPool(paths)
  staging = createStaging({ db, clock, paths, pool, exclusive: true })
  await staging.register()
  audited = []
  auditFails = false
  row = await insertRecord(db, { name: 'one', distribution: 'almalinux9', status: 'quarantined' })
  const received = staging.newPath()
  await writeFile(received, 'unsigned')
  await pool.quarantine(received, row)
  await rm(received)
})
afterEach(async () => {
  await database.db.deleteFrom('pending_deletions').execute()
  for (const table of ['package_counts', 'finding_counts', 'audit', 'offers', 'packages'] as const)
    await database.db.deleteFrom(table).execute()
  await database.db.deleteFrom('blobs').execute()
  await database.db.deleteFrom('distributions').execute()
  await rm(paths.root, { recursive: true })
})
afterAll(() => database.close())

/** Every step passes; the signature step writes a copy. */
async function passing(key: PipelineKey, candidate: Parameters<RescanDeps['steps'][0]['run']>[0]): Promise<StepResult> {
  const pass = (result: 'clean' | 'signed' | 'satisfied') => ({ result, message: result })
  switch (key) {
    case 'antivirus':
      return { seen: pass('clean') }
    case 'cve_scan':
      return { seen: { result: 'scanned', message: '', findings: [] } }
    case 'dependencies':
      return { seen: pass('satisfied'), missing: ['libmissing'] }
    case 'gpg': {
      const path = staging.newPath()
      await writeFile(path, 'signed')
      return { seen: pass('signed'), candidate: { ...candidate, ...(await measure(path)) } }
    }
  }
}

function deps(): RescanDeps {
  const { db } = database
  const nothing = () => Promise.resolve()
  return {
    db,
    clock,
    engines: ['osv'],
    settings: () => ({ validation: {}, cve_policy: policy }) as unknown as Settings,
    offered: findDistribution,
    steps: (['antivirus', 'cve_scan', 'gpg', 'dependencies'] as const).map((key) => ({
      key,
      label: key,
      run: (candidate: never) => passing(key, candidate),
    })),
    audit: {
      record: (event: { action: string }) => {
        audited.push(event.action)
        return auditFails ? Promise.reject(new Error('database gone')) : Promise.resolve()
      },
    },
    staging,
    pool: {
      ...pool,
      hold: (...call: Parameters<LocalPool['hold']>) => ({
        // The database has one session: a query beside a transaction would wait for it, and the test would time out.
        async ensure() {
          await db.selectFrom('packages').select('id').execute()
          await pool.hold(...call).ensure()
        },
      }),
    },
    bus: { emit: () => {} },
    manifests: { write: nothing },
    publisher: {},
    pendingDeletions: { run: nothing },
    onError: (error: unknown) => {
      throw error
    },
  } as unknown as RescanDeps
}

const staged = () => readdir(join(paths.incoming, staging.instanceId))

test('the copy is in the pool before the record names it, and nothing is left in staging', async () => {
  const [result] = await rescan(deps(), { name: 'one' }, systemActor('system'))
  expect(result).toMatchObject({ previous_status: 'quarantined', new_status: 'pending_review', cve_count: 0 })
  const after = await database.db.selectFrom('records').selectAll().executeTakeFirstOrThrow()
  expect(after).toMatchObject({ status: 'pending_review', held_reason: 'rescan', deps_missing: ['libmissing'] })
  expect(after.sha256).not.toBe(row.sha256)
  await access(pool.path(after))
  expect(await staged()).toEqual([])
  const deletions = await database.db.selectFrom('pending_deletions').select('key').execute()
  expect(deletions.map(({ key }) => key)).toContain(row.sha256)
  expect(audited).toEqual(['RESCAN'])
})

test('the record keeps its file and the copy is removed when the change cannot be recorded', async () => {
  auditFails = true
  await expect(rescan(deps(), { name: 'one' }, systemActor('system'))).rejects.toThrow('database gone')
  const after = await database.db.selectFrom('records').selectAll().executeTakeFirstOrThrow()
  expect(after).toMatchObject({ status: 'quarantined', sha256: row.sha256 })
  expect(await staged()).toEqual([])
  const pooled = await readdir(paths.pool, { recursive: true })
  expect(pooled.filter((name) => name.endsWith(row.filename))).toEqual([])
})

test.each(['quarantined', 'published'] as const)(
  'two rescans of a %s record at the same time: findings, counters and audit log agree with the record',
  async (status) => {
    const { db } = database
    const two = await insertRecord(db, {
      name: 'two',
      distribution: 'almalinux9',
      status,
      findings: [finding('CVE-2026-1')],
    })
    const received = staging.newPath()
    await writeFile(received, 'unsigned')
    await (status === 'quarantined' ? pool.quarantine(received, two) : pool.keep(received, two))
    await rm(received)
    await tally(db, [row.id, two.id], 1)
    const whenBothHaveScanned = barrier(2)
    const audit = createAuditLog({
      db,
      clock,
      directory: paths.audit,
      key: 'key',
      checkpoint: () => {},
      mayFile: () => true,
      onError: (error) => {
        throw error
      },
    })
    const scanned: RescanDeps['steps'][0]['run'] = async () => {
      await whenBothHaveScanned()
      return { seen: { result: 'scanned', message: '', findings: [finding('CVE-2026-2', { severity: 'Critical' })] } }
    }
    const { steps, ...others } = deps()
    const racing = {
      ...others,
      audit,
      steps: steps.map((step) => (step.key === 'cve_scan' ? { ...step, run: scanned } : step)),
    }
    const rescanTwo = () => rescan(racing, { name: 'two' }, systemActor('system'))
    const results = (await Promise.all([rescanTwo(), rescanTwo()])).flat()

    expect(results.map((result) => result.new_status)).toEqual(['pending_review', 'pending_review'])
    expect(results.flatMap((result) => result.new_cve_ids)).toEqual(['CVE-2026-2'])
    expect(results.flatMap((result) => result.dropped_cve_ids)).toEqual(['CVE-2026-1'])
    const after = await db.selectFrom('records').selectAll().where('id', '=', two.id).executeTakeFirstOrThrow()
    expect((after.cve_results as Finding[]).map(({ id }) => id)).toEqual(['CVE-2026-2'])
    await access(pool.path(after))
    expect(await staged()).toEqual([])
    const findings = await db.selectFrom('findings').select(['package_id', 'cve', 'severity']).execute()
    expect(findings).toEqual([{ package_id: two.id, cve: 'CVE-2026-2', severity: 'Critical' }])
    const kept = await counters()
    await db.deleteFrom('package_counts').execute()
    await db.deleteFrom('finding_counts').execute()
    await tally(db, [row.id, two.id], 1)
    expect(kept).toEqual(await counters())
    const entries = await db.selectFrom('audit').select('action').where('package', '=', 'two').execute()
    expect(entries).toEqual([{ action: 'RESCAN' }, { action: 'RESCAN' }])
  },
)

/** Resolves for all callers when `count` of them have called. */
function barrier(count: number): () => Promise<void> {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return () => {
    if (--count === 0) open()
    return opened
  }
}

async function counters() {
  const { db } = database
  const order = (rows: object[]) => rows.map((counted) => JSON.stringify(counted)).sort()
  return [
    ...order(await db.selectFrom('package_counts').selectAll().where('n', '<>', 0).execute()),
    ...order(await db.selectFrom('finding_counts').selectAll().where('n', '<>', 0).execute()),
  ]
}
