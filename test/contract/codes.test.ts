// Provokes every declared error code once over HTTP.
import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ProblemCode } from '../../src/domain/problem.ts'
import { freshLife } from './codes/fresh-life.ts'
import { ORDINARY, ordinaryDatabase, rejectedBytes } from './codes/ordinary.ts'
import { givenBy } from './declared.ts'
import { startGate } from './harness.ts'
import { lastAudited, staged } from './packages/seen.ts'

const gate = await startGate({ prepare: ordinaryDatabase })
afterAll(() => gate.close())

/** Codes that cannot be provoked on every machine, each with the reason and the test that covers it instead. */
const EXCEPTIONS: Partial<Record<ProblemCode, string>> = {
  timeout: 'needs a scanner that hangs for minutes; review/rescan gives it',
  last_admin: 'needs two admins who race, because one alone may not change the own account; src/accounts/users.test.ts',
  upstream_error: 'needs an upstream repository; test/gate/import.test.ts',
  account_conflict: 'needs an identity provider; src/accounts/oidc/oidc-login.test.ts',
  idempotency_in_progress: 'needs a request that is still running; test/contract/idempotency.test.ts',
  overloaded: 'needs 32 MB of unfinished bodies; src/api/http/bodies.test.ts',
  task_cancelled: 'needs a task that runs for some time; src/tasks/tasks.test.ts',
  machines_full: 'needs 100,000 machines; src/accounts/readers/readers.test.ts',
  backup_unavailable: 'needs a lost package file or a failing pg_dump; test/backup, src/operations/backup/database',
  storage_unavailable: 'needs an object store that is away; test/pool/objects.test.ts',
  database_unavailable: 'needs a database that is away; test/crash/database-gone.test.ts',
  database_busy: 'needs a lock that is held for 15 s; src/store/db.test.ts',
  reader_unavailable: 'needs the kernel, or ten minutes of readers in use; src/formats/readers/readers.test.ts',
  not_empty: 'needs a repository with packages or a group; test/contract/registries.test.ts',
  not_judged: 'needs an upstream that takes 25 s; src/proxies/proxies.test.ts',
  policy_hold: 'npm answers in its own form; test/contract/npm-held.test.ts',
  version_exists: 'npm answers in its own form; test/contract/npm.test.ts',
  version_spent: 'npm answers in its own form; test/contract/npm.test.ts',
  not_hosted: 'npm answers in its own form; test/contract/npm.test.ts',
  not_acceptable: 'protocols answer in their own form; test/contract/pypi.test.ts',
  storage_full: 'needs a full disk; src/api/http/problems.test.ts shows what ENOSPC becomes',
}
/** Codes that belong to no single route. */
const ANYWHERE: ProblemCode[] = [
  'internal_error',
  'shutting_down',
  'unknown_api_version',
  'method_not_allowed',
  'not_found',
]

describe('a running service', () => {
  test.each(ORDINARY)('answers %s with %i when %s', async (code, status, _, provoke) => {
    const reply = await provoke(gate)
    expect([reply.status, reply.body['code']], reply.text).toEqual([status, code])
    expect(reply.body['detail']).toMatch(/./)
    expect(await staged(gate)).toEqual([])
  })

  test('an unexpected error is answered with its request id only; the log has the details', async () => {
    const before = gate.errors.length
    const provoke = ORDINARY.find(([code]) => code === 'internal_error')?.[3]
    const reply = await provoke?.(gate)
    expect(reply?.status).toBe(500)
    expect(Object.keys(reply?.body ?? {}).sort()).toEqual(['code', 'detail', 'request_id'])
    expect(reply?.body['request_id']).toBe(reply?.headers['x-request-id'])
    for (const inner of ['poison', 'users', 'insert', 'trigger', 'plpgsql', '.ts', '\\n'])
      expect(reply?.text.toLowerCase()).not.toContain(inner)
    const logged = gate.errors.slice(before)
    expect(logged).toMatchObject([
      { request_id: reply?.body['request_id'], err: { message: expect.stringContaining('poison in the table') } },
    ])
    expect(JSON.stringify(logged)).not.toContain('Contract-pass-1')
  })

  test('a failure outside the database is answered alike, and the service continues', async () => {
    const directory = join(gate.reposDir, 'backups')
    await rm(directory, { recursive: true, force: true })
    await symlink('backups', directory)
    const reply = await gate.call('GET', '/backup')
    await rm(directory)
    expect(reply).toMatchObject({
      status: 500,
      body: { code: 'internal_error', request_id: reply.headers['x-request-id'] },
    })
    expect(reply.text).not.toMatch(/backups|ELOOP/)
    expect((await gate.call('GET', '/backup')).status).toBe(200)
  })

  test('rejected bytes answer rejected_bytes in every distribution, before any other conflict and before any scan', async () => {
    for (const distribution of ['jammy', 'noble']) {
      const reply = await gate.upload(await rejectedBytes(), { distribution })
      expect([reply.status, reply.headers['x-package-status'], reply.body]).toMatchObject([
        200,
        'rejected',
        {
          status: 'rejected',
          duplicate: true,
          distribution,
          pipeline: { antivirus: 'not_run', cve_scan: 'not_run', gpg: 'not_run', dependencies: 'not_run' },
          validation: { passed: false, cve_status: 'blocked' },
        },
      ])
      expect(await lastAudited(gate, { action: 'UPLOAD' })).toMatchObject({
        result: 'FAILURE',
        outcome: 'rejected',
        package: 'refused-once',
        distribution,
      })
    }
    expect((await gate.call('GET', '/distributions/noble/packages')).body).toMatchObject({ total: 0 })
  })

  test('a failed publication leaves no record', async () => {
    expect((await gate.call('GET', '/artifacts/unpublishable')).status).toBe(404)
    expect(await lastAudited(gate, { package: 'unpublishable', action: 'UPLOAD', result: 'FAILURE' })).toMatchObject({
      outcome: 'publication_failed',
    })
    expect(await lastAudited(gate, { package: 'unpublishable', action: 'PUBLISH_FAILURE' })).toMatchObject({
      result: 'FAILURE',
    })
  })
})

const LIFE: ProblemCode[] = [
  'setup_token_invalid',
  'setup_done',
  'passive_replica',
  'scanner_unavailable',
  'rate_limited',
  'shutting_down',
]
const provoked = new Set<string>()
describe('a service from its first start to its end', () => freshLife(provoked))

test('the lifecycle tests provoked the codes they are responsible for', () => {
  for (const code of LIFE) expect([code, provoked.has(code)]).toEqual([code, true])
})

test('every code of every route is provoked or excepted, and no exception is obsolete', () => {
  const given = new Set([...gate.app.routes.flatMap((route) => [...givenBy(route)]), ...ANYWHERE])
  const shown = new Set<ProblemCode>([...ORDINARY.map(([code]) => code), ...LIFE])
  expect([...given].filter((code) => !shown.has(code) && !(code in EXCEPTIONS))).toEqual([])
  expect(
    Object.keys(EXCEPTIONS).filter((code) => shown.has(code as ProblemCode) || !given.has(code as ProblemCode)),
  ).toEqual([])
})
