// Uncaught errors in the built service: each process ends in order, is started again, and is counted.
import { readFile } from 'node:fs/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { freePort } from '../ports.ts'
import { buildDeb } from '../samples/deb.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { waitFor } from './state.ts'

/** Loaded by every process of the service before its own code: the product contains nothing like it. */
const PROVOKE = Buffer.from(`process.on('SIGUSR2', () => { throw new Error('provoked') })`).toString('base64')
const env = { NODE_OPTIONS: `--import=data:text/javascript;base64,${PROVOKE}` }

const services: Service[] = []
async function start(more: Record<string, string>): Promise<Service> {
  const service = await startService({ env: { ...env, ...more } })
  services.push(service)
  return service
}
afterAll(async () => {
  await Promise.all(services.map((service) => service.kill()))
  await removeTemporary()
})

const saying = (service: Service, words: string) =>
  service.log.filter((line) => typeof line === 'object' && String(line['msg']).includes(words)).length

async function children(service: Service, role: 'api' | 'listener'): Promise<number[]> {
  const { pid } = service.process
  const pids = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number)
  const roles = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return pids.filter((_, n) => roles[n]?.split('\0').includes(role))
}

describe('a service of one process', () => {
  it('ends in order with a code that is not 0, and has lost nothing', async () => {
    const service = await start({})
    const { body } = await service.upload(await buildDeb({ name: 'kept' }), 'a.deb', { distribution: 'jammy' })
    expect(body).toMatchObject({ status: 'published' })
    process.kill(service.process.pid!, 'SIGUSR2')
    expect(await service.exited).toEqual({ code: 1, signal: null })
    expect(saying(service, 'an uncaught exception: the process ends in order')).toBe(1)
    expect(saying(service, 'stopping')).toBe(1)
    expect(saying(service, 'could not stop cleanly')).toBe(0)
    const again = await startService({ reposDir: service.reposDir, env })
    services.push(again)
    const { body: list } = await again.call('GET', '/artifacts/?search=kept')
    expect(list).toMatchObject({ items: [{ name: 'kept', status: 'published' }] })
  })
})

describe('a service of several processes', () => {
  it('starts the API and a listener again, and counts it', async () => {
    const service = await start({ SERVE_PROCESSES: '2', BACKEND_PORT: String(await freePort()) })
    const [listener] = await children(service, 'listener')
    const [api] = await children(service, 'api')
    process.kill(listener!, 'SIGUSR2')
    await waitFor('another listener', async () => {
      const now = await children(service, 'listener')
      return now.length === 2 && !now.includes(listener!)
    })
    process.kill(api!, 'SIGUSR2')
    await waitFor('another API', async () => {
      const now = await children(service, 'api')
      const ready = await fetch(`${service.api}/health/ready`).catch(() => null)
      return !now.includes(api!) && ready?.status === 200
    })
    const metrics = await (await fetch(`${service.api}/metrics`)).text()
    expect(metrics).toMatch(/^svc_process_restarts_total\{process="api"\} 1$/m)
    expect(metrics).toMatch(/^svc_process_restarts_total\{process="listener"\} 1$/m)
    expect(metrics).toMatch(/^svc_uncaught_exceptions_total\{failed="process"\} 0$/m)
    expect(saying(service, 'an uncaught exception: the process ends in order')).toBe(2)
    expect(await service.stop()).toBe(0)
  })

  it('ends as a whole, in order, when its parent has the error', async () => {
    const service = await start({ SERVE_PROCESSES: '2' })
    process.kill(service.process.pid!, 'SIGUSR2')
    expect(await service.exited).toEqual({ code: 1, signal: null })
    expect(saying(service, 'could not stop cleanly')).toBe(0)
  })
})
