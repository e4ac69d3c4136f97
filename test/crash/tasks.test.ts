// Kills the process while it runs a task: the next process finishes the task by itself.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/db.ts'
import { addSource, startAptUpstream, type AptUpstream } from '../gate/apt-upstream.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { startService, type Service } from '../service.ts'
import { ADVISORIES, createInstallations, type Engine, type Installation, type Installations } from './installations.ts'
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
  let upstream: AptUpstream
  beforeAll(async () => {
    installations = await createInstallations(engine)
    upstream = await startAptUpstream()
  })
  afterAll(async () => {
    await upstream?.close()
    for (const service of running) await service.kill()
    await installations?.remove()
  })

  async function start(installation: Installation, env: Record<string, string> = {}): Promise<Service> {
    const service = await startService({ ...installation, env: { ...installation.env, ...env } })
    running.push(service)
    return service
  }

  /** With a new database, which does not know the token of the other installations. */
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

  // First: records that are not published yet. Second: manifests without an index.
  it.each(engine === 'postgres' ? ['settled:30', 'manifest-written:1'] : ['settled:30'])(
    'a bulk import that is killed at %s is finished by the next process, and every package is served',
    async (checkpoint) => {
      const names = Array.from({ length: 40 }, (_, i) => `bulk-${i}`)
      await upstream.offer(names.map((name) => ({ name })))
      const installation = await installations.copy()
      const first = await start(installation, { GATEHOUSE_DIE_AT: checkpoint })
      const source = await addSource(first, upstream, 'bulk')
      const packages = names.map((name) => ({ package: name, source_id: source }))
      await first.call('POST', '/import/bulk', { distribution: 'jammy', packages }).catch(() => null)
      expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' })

      const second = await start(installation)
      const { id, attempts } = await waitFor('the end of the task', async () => {
        const [task] = (await second.call('GET', '/tasks/?kind=import_bulk')).body.items as Task[]
        return task && ['done', 'failed'].includes(task.state) && task
      })
      expect(attempts).toBe(2)
      const { body } = await second.call('GET', `/import/bulk/${id}`)
      expect(body).toMatchObject({ status: 'done', errors: 0, done_count: 40, counts: { added: expect.any(Number) } })
      expect(Number(body.counts.added) + Number(body.counts.skipped)).toBe(40)
      const index = await (await fetch(`${second.apt}/repos/dists/jammy/main/binary-amd64/Packages`)).text()
      for (const name of names) expect(index.split(`Package: ${name}\n`)).toHaveLength(2)
      expect(await second.stop()).toBe(0)
      expect((await examine({ ...installation, collected: true })).faults).toEqual([])
      await installation.remove()
    },
  )

  // A cursor is saved after each distribution, and after each page of its packages.
  it.each(engine === 'postgres' ? ['task-saved:1', 'task-saved:4'] : ['task-saved:3'])(
    'a match against new advisories that is killed at %s is finished by the next process',
    async (checkpoint) => {
      const installation = await installations.copy()
      const directory = join(installation.directory, 'osv')
      await writeAdvisories(directory, ADVISORIES)
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
