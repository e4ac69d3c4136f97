// Two services and one schedule: each due time is handled once, and the other service finishes what a killed leader began.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/db.ts'
import { ADVISORIES, createInstallations, type Installation, type Installations } from '../crash/installations.ts'
import { examine, waitFor } from '../crash/state.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { startService, type Service } from '../service.ts'

let installations: Installations
let installation: Installation
const running: Service[] = []
beforeAll(async () => void (installations = await createInstallations('postgres')))
afterAll(() => installations?.remove())
beforeEach(async () => void (installation = await installations.copy()))
afterEach(async () => {
  for (const service of running.splice(0)) await service.kill()
  await installation.remove()
})

async function start(env: Record<string, string> = {}): Promise<Service> {
  const service = await startService({ ...installation, env: { ...installation.env, ...env } })
  running.push(service)
  return service
}
const isLeader = async (service: Service) =>
  (await service.call('GET', '/health')).body.checks.info.ha.is_leader as boolean
const tasksOf = async (service: Service, kind: string): Promise<any[]> =>
  (await service.call('GET', `/tasks/?kind=${kind}`)).body.items

it('a job runs once at its time, whichever replica leads and although the leader is killed afterwards', async () => {
  const [first, second] = [await start(), await start()]
  // Even if it passes before the settings are stored, it is due, because it is after the start of the leader.
  const due = new Date(Math.ceil(Date.now() / 60_000) * 60_000)
  const backup = { enabled: true, hour: due.getUTCHours(), minute: due.getUTCMinutes(), timezone: 'UTC' }
  expect((await second.call('PATCH', '/settings/', { backup })).status).toBe(200)
  const done = await waitFor('the backup', async () =>
    (await tasksOf(second, 'backup')).find(({ state }) => state === 'done' || state === 'failed'),
  )
  expect(done.state).toBe('done')
  await first.kill()
  await waitFor('the other to lead', () => isLeader(second))
  const third = await start()
  await second.kill()
  await waitFor('the third to lead', () => isLeader(third))
  // When it answers with its jobs, it has already read the due times.
  const { body } = await third.call('GET', '/health')
  const { next_run } = body.checks.non_critical.scheduler.jobs.find(({ id }: { id: string }) => id === 'backup')
  expect(new Date(next_run).getTime()).toBe(due.getTime() + 86_400_000)

  const { db, close } = await openDatabase(installation.databaseUrl, { poolSize: 1 })
  const ticks = await db.selectFrom('job_ticks').select(['due_at', 'error']).where('job', '=', 'backup').execute()
  await close()
  expect(ticks).toEqual([{ due_at: due, error: null }])
  expect(await tasksOf(third, 'backup')).toHaveLength(1)
  expect((await third.call('GET', '/backup/')).body.total).toBe(1)
})

it('a match against new advisories that its replica dies in is finished by the other, each package once', async () => {
  const directory = join(installation.directory, 'osv')
  await mkdir(directory)
  const env = { SVC_OSV_DIR: directory }
  // It dies when it has saved its cursor.
  const first = await start({ ...env, GATEHOUSE_DIE_AT: 'task-saved:2' })
  const second = await start(env)
  expect([await isLeader(first), await isLeader(second)]).toEqual([true, false])
  await writeAdvisories(directory, ADVISORIES)
  await first.call('POST', '/security/vulnscan/update').catch(() => null)
  expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' })
  const tasks = await waitFor('the end of the match', async () => {
    const found = await tasksOf(second, 'rematch')
    return found.length > 0 && found.every(({ state }) => ['done', 'failed'].includes(state)) && found
  })
  expect(tasks.at(-1)).toMatchObject({ state: 'done', attempts: 2, result: { failed: 0, changed: 3 } })

  // Nothing takes over a person's rescan: it is requested again, from the other service.
  const rescanned = await second.call('POST', '/security/packages/shared/1.0/rescan')
  const found = rescanned.body.records.map(({ distribution, cve_count }: any) => [distribution, cve_count])
  expect(found.sort()).toEqual([
    ['jammy', 1],
    ['noble', 1],
  ])
  const { body } = await second.call('GET', '/artifacts/audit/logs?action=RESCAN&per_page=200')
  expect(body.total).toBeLessThanOrEqual(2)
  expect(await second.stop()).toBe(0)
  expect((await examine({ ...installation, collected: true })).faults).toEqual([])
})
