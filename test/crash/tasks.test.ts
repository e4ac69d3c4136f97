// Kills the process while it runs a task: the next process finishes the task by itself.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
    // The database is empty: the token of the installation is unknown to it.
    const service = await startService({ ...installation, token: undefined, env: { ...installation.env, ...env } })
    running.push(service)
    return service
  }

  // The embedded database takes seconds to open.
  it.each(engine === 'postgres' ? ['restored:1', 'restored:5', 'before-flip:6'] : ['restored:5'])(
    'a sync-index that is killed at %s is finished by the next process',
    async (checkpoint) => {
      const full = await installations.copy()
      const { records } = await examine(full)
      await full.remove()
      const installation = await installations.copy({ emptyDatabase: true })
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
    const installation = await installations.copy({ emptyDatabase: true })
    const first = await start(installation)
    const asked = first.call('POST', '/artifacts/admin/sync-index').catch(() => null)
    await waitFor('the task', async () => (await first.call('GET', '/tasks/')).body.total === 1)
    expect(await first.stop()).toBe(0)
    const answer = await asked
    // The task may have ended before the signal arrived.
    if (answer?.status !== 200)
      expect(answer?.body ?? { code: 'shutting_down' }).toMatchObject({ code: 'shutting_down' })

    const second = await start(installation)
    const { attempts } = await waitFor('the end of the task', async () => {
      const [task] = (await second.call('GET', '/tasks/')).body.items as Task[]
      return task?.state === 'done' && task
    })
    expect(attempts).toBe(1)
    expect(await second.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
    await installation.remove()
  })
})
