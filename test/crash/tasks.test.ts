// Kills the process while it runs a task: the next process finishes the task by itself.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/db.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { startService, type Service } from '../service.ts'
import { createInstallations, type Engine, type Installation, type Installations } from './installations.ts'
import { examine, waitFor } from './state.ts'

interface Task {
  id: number
  state: string
  attempts: number
  result: Record<string, unknown> | null
}

describe.each<Engine>(['postgres', 'pglite'])('on %s', (engine) => {
  let installations: Installations
  const running: Service[] = []
  beforeAll(async () => void (installations = await createInstallations(engine)))
  afterAll(async () => {
    for (const service of running) await service.kill()
    await installations?.remove()
  })

  async function start(installation: Installation, env: Record<string, string> = {}): Promise<Service> {
    const service = await startService({ ...installation, env: { ...installation.env, ...env } })
    running.push(service)
    return service
  }

  /** With a new database, which does not know the token of the others. */
  const emptyInstallation = async () => ({
    ...(await installations.copy({ emptyDatabase: true })),
    token: undefined as unknown as string,
  })

  // The embedded database takes seconds to open.
  it.each(engine === 'postgres' ? ['restored:1', 'restored:5', 'before-flip:6'] : ['restored:5'])(
    'a sync-index that is killed at %s is finished by the next process',
    async (checkpoint) => {
      const full = await installations.copy()
      const { records } = await examine(full)
      await full.remove()
      const installation = await emptyInstallation()
      const first = await start(installation, { GATEHOUSE_DIE_AT: checkpoint })
      await first.call('POST', '/artifacts/admin/sync-index').catch(() => null)
      expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' })

      const second = await start(installation)
      const task = await waitFor('the end of the task', async () => {
        const { body } = await second.call('GET', '/tasks/?kind=sync_index')
        expect(body.total).toBe(1)
        const [only] = body.items as Task[]
        return ['done', 'failed'].includes(only!.state) && only
      })
      expect(task).toMatchObject({
        ...{ state: 'done', attempts: 2 },
        result: { packages_indexed: records.length, orphans: 0, missing_files: 0 },
      })
      expect(await second.stop()).toBe(0)
      const state = await examine({ ...installation, collected: true })
      expect(state.faults).toEqual([])
      expect(state.records).toEqual(records)
      await installation.remove()
    },
  )

  it('a sync-index that a shutdown interrupts is finished by the next process', async () => {
    const installation = await emptyInstallation()
    const first = await start(installation)
    const asked = first.call('POST', '/artifacts/admin/sync-index').catch(() => null)
    await waitFor('the task', async () => (await first.call('GET', '/tasks/?kind=sync_index')).body.total === 1)
    expect(await first.stop()).toBe(0)
    const answer = await asked
    // The task may have ended before the signal arrived.
    if (answer?.status !== 200)
      expect(answer?.body ?? { code: 'shutting_down' }).toMatchObject({ code: 'shutting_down' })

    const second = await start(installation)
    const { attempts } = await waitFor('the end of the task', async () => {
      const [task] = (await second.call('GET', '/tasks/?kind=sync_index')).body.items as Task[]
      return task?.state === 'done' && task
    })
    expect(attempts).toBe(1)
    expect(await second.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
    await installation.remove()
  })

  // A cursor is saved after each distribution, and after each page of its packages.
  it.each(engine === 'postgres' ? ['task-saved:1', 'task-saved:4'] : ['task-saved:3'])(
    'a match against new advisories that is killed at %s is finished by the next process',
    async (checkpoint) => {
      const installation = await installations.copy()
      const directory = join(installation.directory, 'osv')
      await writeAdvisories(
        directory,
        [
          { ecosystem: 'Ubuntu:22.04:LTS', package: 'shared', cve: 'CVE-2026-3001' },
          { ecosystem: 'Ubuntu:22.04:LTS', package: 'beta', cve: 'CVE-2026-3002' },
          { ecosystem: 'Ubuntu:24.04:LTS', package: 'shared', cve: 'CVE-2026-3003' },
        ].map((about, n) => ({ ...about, id: `SA-${n}`, fixed: '9.0', severity: 'low' as const })),
      )
      // The service reads the advisories and matches its packages when it starts.
      const env = { SVC_OSV_DIR: directory }
      const first = await start(installation, { ...env, GATEHOUSE_DIE_AT: checkpoint })
      expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' })

      const second = await start(installation, env)
      const task = await waitFor('the end of the task', async () => {
        const tasks = (await second.call('GET', '/tasks/?kind=rematch')).body.items as Task[]
        // A second one may follow the interrupted one and find nothing to do.
        const ended = tasks.every(({ state }) => ['done', 'failed'].includes(state))
        return ended && tasks.at(-1)
      })
      expect(task).toMatchObject({ state: 'done', attempts: 2, result: { failed: 0, changed: 3 } })
      const findings = async (name: string) =>
        ((await second.call('GET', `/artifacts/${name}`)).body.versions as any[])
          .map((record) => `${record.distribution} ${record.cve_results?.map(({ id }: any) => id).join() ?? 'none'}`)
          .sort()
      expect(await findings('shared')).toEqual(['jammy CVE-2026-3001', 'noble CVE-2026-3003'])
      expect(await findings('beta')).toEqual(['jammy CVE-2026-3002'])
      expect(await second.stop()).toBe(0)
      const { db, close } = await openDatabase(installation.databaseUrl, { poolSize: 1 })
      const state = await db.selectFrom('advisory_state').select(['generation', 'rematched']).executeTakeFirstOrThrow()
      await close()
      expect(state.rematched).toBe(state.generation)
      expect((await examine({ ...installation, collected: true })).faults).toEqual([])
      await installation.remove()
    },
  )
})
