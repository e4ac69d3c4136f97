// /settings/run-retention: old data are deleted, needed data stay, and the audit log can still be verified.
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { verifyAudit } from '../../src/verify-audit.ts'
import { buildDeb } from '../samples/deb.ts'
import { startGate } from './harness.ts'
import { lastAudited, published } from './packages/seen.ts'

const DAY_MS = 86_400_000

interface Ran {
  dry_run: boolean
  task_id: number
  result: {
    audit: { entries: number; files: number }
    quarantine: { packages: number }
    access_logs: { files: number; rotated: number }
    versions: { packages: number; needed: number; listed: Record<string, unknown>[] }
  }
}

// A separate service, because the clock moves by days and every job becomes due.
const gate = await startGate()
afterAll(() => gate.close())

const put = async (name: string, version: string, more: object = {}) => {
  const reply = await gate.upload(await buildDeb({ name, version, ...more }), { distribution: 'bookworm' })
  if (reply.status !== 201) throw new Error(reply.text)
}
const run = async (body?: object) => {
  const { status, body: ran, text } = await gate.call<Ran>('POST', '/settings/run-retention', { body })
  expect(status, text).toBe(200)
  return ran
}
const ofTool = async () => (await published(gate, 'bookworm')).filter((entry) => entry.includes('tool')).sort()

test('old versions are unpublished, except those that another package needs', async () => {
  for (const version of ['1.9', '1.10', '1.2', '2:0.1']) await put('tool', version)
  await put('tool-data', '1.0')
  await put('tool-data', '2.0')
  await put('uses-tool', '1.0', { fields: { Depends: 'tool (= 1.2), tool-data (<< 2)' } })
  gate.clock.advance(1000)
  await gate.call('PATCH', '/settings/', {
    body: { retention: { keep_versions: { '*': 0, bookworm: 1 }, keep_versions_days: 0 } },
  })
  const plan = await run({ dry_run: true })
  expect(plan).toMatchObject({ dry_run: true, result: { versions: { packages: 2, needed: 2 } } })
  const shown = plan.result.versions.listed.map(({ name, version, goes, why }) => [name, version, goes, why])
  expect(shown.sort()).toEqual([
    ['tool', '1.10', true, '1 newer versions are published'],
    ['tool', '1.2', false, 'uses-tool 1.0 needs tool (= 1.2)'],
    ['tool', '1.9', true, '1 newer versions are published'],
    ['tool-data', '1.0', false, 'uses-tool 1.0 needs tool-data (<< 2)'],
  ])
  expect((await ofTool()).length).toBe(7)

  expect(await run()).toMatchObject({ dry_run: false, result: { versions: { packages: 2, needed: 2 } } })
  expect(await ofTool()).toEqual(['tool 1.2', 'tool 2:0.1', 'tool-data 1.0', 'tool-data 2.0', 'uses-tool 1.0'])
  expect(await lastAudited(gate, { action: 'DELETE', package: 'tool' })).toMatchObject({
    user: 'admin-person',
    extra: { reason: 'retention.keep_versions', keep: 1 },
  })
  expect(await lastAudited(gate, { action: 'RETENTION' })).toMatchObject({
    result: 'SUCCESS',
    user: 'admin-person',
    extra: { versions: { packages: 2, needed: 2 } },
  })

  // A version that only an unneeded version needed is deleted by the next pass of the same run.
  await put('uses-tool', '2.0')
  gate.clock.advance(1000)
  expect(await run()).toMatchObject({ result: { versions: { packages: 3, needed: 0 } } })
  expect(await ofTool()).toEqual(['tool 2:0.1', 'tool-data 2.0', 'uses-tool 2.0'])
})

test('only admins run retention', async () => {
  const { status } = await gate.call('POST', '/settings/run-retention', { as: gate.people.maintainer.token })
  expect(status).toBe(403)
})

test('old days of the audit log, access logs and refused packages go; the log says from when it is kept', async () => {
  const { total, kept_from: before } = (
    await gate.call<{ total: number; kept_from: string | null }>('GET', '/artifacts/audit/logs')
  ).body
  expect(before).toBeNull()
  gate.clock.advance(4 * DAY_MS)
  // The leader's lease and the sessions have expired.
  const as = await gate.login('admin-person')
  await expect
    .poll(async () => (await gate.call('POST', '/settings/run-retention', { as, body: { dry_run: true } })).status)
    .toBe(200)
  const patched = await gate.call('PATCH', '/settings/', {
    as,
    body: { retention: { audit_days: 2, access_log_days: 2, quarantine_days: 1 } },
  })
  expect(patched.status).toBe(200)
  const logs = join(gate.reposDir, 'logs')
  await writeFile(join(logs, 'access-apt.log-20200101.gz'), '')

  // Days that a channel has not delivered yet stay; it checks every five seconds.
  let removed = 0
  const runAgain = async () => {
    const reply = await gate.call<Ran>('POST', '/settings/run-retention', { as })
    expect(reply.status, reply.text).toBe(200)
    return (removed = reply.body.result.audit.entries)
  }
  await expect.poll(runAgain).toBeGreaterThanOrEqual(total)
  expect((await readdir(logs)).filter((name) => name.includes('2020'))).toEqual([])
  const kept = (await gate.call<{ kept_from: string }>('GET', '/artifacts/audit/logs', { as })).body.kept_from
  const exported = await gate.call('GET', '/artifacts/audit/export', { as })
  expect(exported.headers['x-audit-kept-from']).toBe(kept)
  const complaints: string[] = []
  const lines: string[] = []
  // A signature from the future is not accepted, and the clock of this service is days ahead.
  vi.useFakeTimers({ toFake: ['Date'], now: gate.clock.now() })
  const code = await verifyAudit(
    [join(gate.reposDir, 'audit')],
    { REPOS_DIR: gate.reposDir },
    { print: (line) => void lines.push(line), complain: (line) => void complaints.push(line) },
  ).finally(() => vi.useRealTimers())
  expect([code, complaints]).toEqual([0, []])
  expect(lines.join('\n')).toContain(`entries 1 to ${removed} `)
})
