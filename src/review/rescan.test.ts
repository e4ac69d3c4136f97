// A rescan that clears a quarantined package and replaces its file by a signed copy. Uses PGlite in memory.
import { access, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Settings } from '../domain/settings.ts'
import type { PipelineKey } from '../domain/status.ts'
import { findDistribution } from '../formats/index.ts'
import type { StepResult } from '../gate/step.ts'
import { measure } from '../kernel/digests.ts'
import { insertRecord } from '../sbom/fixture.ts'
import type { Database } from '../store/db.ts'
import { createPool, type Pool } from '../store/files/pool.ts'
import { createStaging, type Staging } from '../store/files/staging.ts'
import { createPaths, ensurePaths, type Paths } from '../store/paths.ts'
import type { PackageRow } from '../store/tables.ts'
import { systemActor } from './deps.ts'
import { rescan, type RescanDeps } from './rescan.ts'

const clock = { now: () => new Date('2026-03-05T00:00:00Z') }
const policy = { sla_critical_days: 0, sla_high_days: 7, sla_medium_days: 30 }

let database: Database
let paths: Paths
let pool: Pool
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
  await database.db.deleteFrom('packages').execute()
  await database.db.deleteFrom('blobs').execute()
  await database.db.deleteFrom('distributions').execute()
  await rm(paths.root, { recursive: true })
})
afterAll(() => database.close())

/** Every step passes; the signature step writes a copy. */
async function passing(key: PipelineKey, candidate: Parameters<RescanDeps['steps'][0]['run']>[0]): Promise<StepResult> {
  const pass = (result: 'clean' | 'no_findings' | 'signed' | 'satisfied') =>
    ({ name: key === 'cve_scan' ? 'cve' : key, outcome: 'pass', result, message: result }) as const
  switch (key) {
    case 'antivirus':
      return { verdict: pass('clean') }
    case 'cve_scan':
      return { verdict: pass('no_findings'), findings: [] }
    case 'dependencies':
      return { verdict: pass('satisfied'), missing: ['libmissing'] }
    case 'gpg': {
      const path = staging.newPath()
      await writeFile(path, 'signed')
      return { verdict: pass('signed'), candidate: { ...candidate, ...(await measure(path)) } }
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
      hold: (...call: Parameters<Pool['hold']>) => ({
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
  const after = await database.db.selectFrom('packages').selectAll().executeTakeFirstOrThrow()
  expect(after).toMatchObject({ status: 'pending_review', held_reason: 'rescan', deps_missing: ['libmissing'] })
  expect(after.sha256).not.toBe(row.sha256)
  await access(pool.path(after))
  expect(await staged()).toEqual([])
  const deletions = await database.db.selectFrom('pending_deletions').select('key').execute()
  expect(deletions.map(({ key }) => key)).toContain(row.sha256)
  expect(audited).toEqual(['RESCAN'])
})

test('when the change cannot be recorded, the record keeps its file and the copy is removed', async () => {
  auditFails = true
  await expect(rescan(deps(), { name: 'one' }, systemActor('system'))).rejects.toThrow('database gone')
  const after = await database.db.selectFrom('packages').selectAll().executeTakeFirstOrThrow()
  expect(after).toMatchObject({ status: 'quarantined', sha256: row.sha256 })
  expect(await staged()).toEqual([])
  const pooled = await readdir(paths.pool, { recursive: true })
  expect(pooled.filter((name) => name.endsWith(row.filename))).toEqual([])
})
