// Kills the process in the middle of a mirror run: the next process imports every package, once.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAptUpstream, type AptUpstream } from '../gate/apt-upstream.ts'
import { startService, type Service } from '../service.ts'
import { createInstallations, type Engine, type Installation, type Installations } from './installations.ts'
import { examine, waitFor } from './state.ts'

const NAMES = Array.from({ length: 45 }, (_, n) => `mirrored-${String(n).padStart(2, '0')}`)
const CODENAME = 'jammy'

describe.each<Engine>(['postgres', 'pglite'])('on %s', (engine) => {
  let installations: Installations
  let upstream: AptUpstream
  const running: Service[] = []
  beforeAll(async () => {
    installations = await createInstallations(engine)
    upstream = await startAptUpstream()
    await upstream.offer(NAMES.map((name) => ({ name })))
  })
  afterAll(async () => {
    for (const service of running) await service.kill()
    await upstream?.close()
    await installations?.remove()
  })

  async function start(installation: Installation, env: Record<string, string> = {}): Promise<Service> {
    const service = await startService({ ...installation, env: { ...installation.env, ...env } })
    running.push(service)
    return service
  }

  /** Adds the source with its mirror, and starts a run. */
  async function startRun(service: Service): Promise<void> {
    const { body: source } = await service.call('POST', '/import/sources', {
      ...{ name: 'up', type: 'apt', url: upstream.url, distribution: 'test', allow_unsigned: true },
    })
    const { status } = await service.call('PUT', `/import/mirror/sources/${source.id}`, {
      ...{ distribution: CODENAME, globs: ['*'] },
    })
    expect(status).toBe(200)
    await service.call('POST', `/import/mirror/start/${source.id}`).catch(() => null)
  }

  /** Waits for the end of the run. @returns how many processes ran it */
  async function endOfRun(service: Service): Promise<number> {
    const task = await waitFor('the end of the run', async () => {
      const { body } = await service.call('GET', '/tasks/?kind=mirror')
      expect(body.total).toBe(1)
      const [only] = body.items
      return ['done', 'failed'].includes(only.state) && only
    })
    expect(task).toMatchObject({ state: 'done', result: { total: NAMES.length, error: 0, stopped: null } })
    return task.attempts
  }

  async function expectAll(installation: Installation, second: Service): Promise<void> {
    const { body } = await second.call('GET', `/artifacts/?distribution=${CODENAME}&search=mirrored&per_page=200`)
    const published = body.items.filter(({ status, served }: any) => status === 'published' && served)
    expect(published.map(({ name }: any) => name).sort()).toEqual(NAMES)
    expect(await second.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
    await installation.remove()
  }

  // The task is saved when the sync is queued, when the missing packages are counted, and after every 20 results.
  it.each(engine === 'postgres' ? ['staged:20', 'before-flip:1'] : ['task-saved:3'])(
    'a run that is killed at %s is finished by the next process',
    async (checkpoint) => {
      const installation = await installations.copy()
      const first = await start(installation, { GATEHOUSE_DIE_AT: checkpoint })
      await startRun(first)
      expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' })
      const second = await start(installation)
      expect(await endOfRun(second)).toBe(2)
      await expectAll(installation, second)
    },
  )

  it('a run that a shutdown interrupts is finished by the next process', async () => {
    const installation = await installations.copy()
    const first = await start(installation)
    // The shutdown comes while packages are transferred.
    let stopped: Promise<unknown> | null = null
    upstream.intercept = (_, response, path) => {
      if (!path.startsWith('pool/mirrored-3')) return false
      stopped ??= first.stop()
      response.writeHead(503).end()
      return true
    }
    await startRun(first)
    expect(await first.exited).toEqual({ code: 0, signal: null })
    upstream.intercept = null
    const second = await start(installation)
    expect(await endOfRun(second)).toBe(1)
    await expectAll(installation, second)
  })
})
