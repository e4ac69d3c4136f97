// Metrics of the processes that serve repositories, in the built service: one process is killed, and one is stopped.
import { afterAll, describe, expect, it } from 'vitest'
import { freePort } from '../ports.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { childrenOf } from './children.ts'
import { waitFor } from './state.ts'

const services: Service[] = []
async function start(env: Record<string, string>): Promise<Service> {
  const service = await startService({ env })
  services.push(service)
  return service
}
afterAll(async () => {
  await Promise.all(services.map((service) => service.kill()))
  await removeTemporary()
})

/** The value of each sample, by name and labels without the brand. */
async function listenerMetrics(service: Service): Promise<Record<string, number>> {
  const text = await (await fetch(`${service.api}/metrics`)).text()
  const samples = [...text.matchAll(/^svc_listener_(\S+) (\S+)$/gm)]
  return Object.fromEntries(samples.map(([, name, value]) => [name, Number(value)]))
}

const ofListener = (metrics: Record<string, number>, number: number) =>
  Object.keys(metrics)
    .filter((name) => name.includes(`{listener="${number}"`))
    .map((name) => name.replace(/\{.*/, ''))

/** The sum over all listeners, because it is unknown which one accepts a connection. */
const total = (metrics: Record<string, number>, name: string, labels: string) =>
  Object.entries(metrics)
    .filter(([key]) => key.startsWith(`${name}{`) && key.endsWith(`${labels}}`))
    .reduce((sum, [, value]) => sum + value, 0)

async function askFor(service: Service, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await (await fetch(`${service.rpm}/none`)).text()
}

it('a service of one process shows the listeners in it', async () => {
  const service = await start({})
  await askFor(service, 3)
  const metrics = await listenerMetrics(service)
  expect(metrics).toMatchObject({
    'up{listener="1"}': 1,
    'restarts_total{listener="1"}': 0,
    'requests_total{listener="1",port="rpm",status="4xx"}': 3,
    'requests_total{listener="1",port="apt",status="2xx"}': 0,
    'transfers{listener="1",port="rpm"}': 0,
  })
})

describe('a service of several processes', () => {
  let service: Service

  it('shows what each of them counted', async () => {
    service = await start({ SERVE_PROCESSES: '2', BACKEND_PORT: String(await freePort()) })
    await askFor(service, 5)
    const metrics = await listenerMetrics(service)
    expect(metrics).toMatchObject({ 'up{listener="1"}': 1, 'up{listener="2"}': 1 })
    expect(total(metrics, 'requests_total', 'port="rpm",status="4xx"')).toBe(5)
    expect(ofListener(metrics, 2)).toEqual(ofListener(metrics, 1))
    expect(metrics['memory_bytes{listener="2",kind="rss"}']).toBeGreaterThan(10 << 20)
    expect(metrics['open_fds{listener="2"}']).toBeGreaterThan(5)
  })

  it('counts the restart of one that is killed, which is then shown again', async () => {
    const [first] = await childrenOf(service.process, 'listener')
    process.kill(first!, 'SIGKILL')
    const metrics = await waitFor('another listener that answers', async () => {
      const now = await listenerMetrics(service)
      return total(now, 'restarts_total', '') === 1 && now['up{listener="1"}'] === 1 && now['up{listener="2"}'] === 1
        ? now
        : null
    })
    const restarts = [1, 2].map((number) => metrics[`restarts_total{listener="${number}"}`])
    expect(restarts.toSorted()).toEqual([0, 1])
  })

  it('shows one that is held as not up, in a bounded time, and again once it goes on', async () => {
    const [held] = await childrenOf(service.process, 'listener')
    process.kill(held!, 'SIGSTOP')
    try {
      for (let scrape = 0; scrape < 3; scrape++) {
        const began = performance.now()
        const metrics = await listenerMetrics(service)
        // The limit for unreadable values is 4 s; without it the answer would never arrive.
        expect(performance.now() - began).toBeLessThan(8_000)
        const up = [1, 2].filter((number) => metrics[`up{listener="${number}"}`] === 1)
        expect(up).toHaveLength(1)
        expect(ofListener(metrics, 3 - up[0]!)).toEqual(['up', 'restarts_total'])
      }
    } finally {
      process.kill(held!, 'SIGCONT')
    }
    await waitFor('both listeners', async () => {
      const metrics = await listenerMetrics(service)
      return metrics['up{listener="1"}'] === 1 && metrics['up{listener="2"}'] === 1
    })
    expect(await service.stop()).toBe(0)
  })

  it('has none of them at a port for package clients', async () => {
    const single = services[0]!
    for (const port of [single.apt, single.rpm]) expect((await fetch(`${port}/metrics`)).status).toBe(404)
  })
})
