// Metrics of listeners, as Prometheus receives them.
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { KnownListener } from '../../domain/listener-report.ts'
import { addListenerMetrics } from './listener-metrics.ts'

const port = (requests: number) => ({
  requests: { '2xx': requests, '4xx': 1 },
  sentBytes: 70,
  transfers: 2,
  refused: 3,
})

const ANSWERING: KnownListener = {
  number: 1,
  restarts: 0,
  report: {
    ports: { apt: port(5), rpm: port(6) },
    loopLagSeconds: 0.25,
    uptimeSeconds: 60,
    memory: { rss: 100, heap_used: 50 },
    openFiles: 20,
  },
}
const HELD: KnownListener = { number: 2, restarts: 4, report: null }

async function render(...listeners: KnownListener[]): Promise<string[]> {
  const registry = new Registry()
  let asked = 0
  addListenerMetrics(registry, {
    listeners: async () => {
      asked++
      return listeners
    },
  })
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(asked).toBe(1)
  return lines.map((line) => line.replace('svc_listener_', ''))
}

test('a listener has a sample of each metric, by port where it has several', async () => {
  expect(await render(ANSWERING)).toEqual([
    'up{listener="1"} 1',
    'restarts_total{listener="1"} 0',
    'requests_total{listener="1",port="apt",status="2xx"} 5',
    'requests_total{listener="1",port="apt",status="4xx"} 1',
    'requests_total{listener="1",port="rpm",status="2xx"} 6',
    'requests_total{listener="1",port="rpm",status="4xx"} 1',
    'sent_bytes_total{listener="1",port="apt"} 70',
    'sent_bytes_total{listener="1",port="rpm"} 70',
    'transfers{listener="1",port="apt"} 2',
    'transfers{listener="1",port="rpm"} 2',
    'refused_total{listener="1",port="apt"} 3',
    'refused_total{listener="1",port="rpm"} 3',
    'eventloop_lag_seconds{listener="1"} 0.25',
    'uptime_seconds{listener="1"} 60',
    'memory_bytes{listener="1",kind="rss"} 100',
    'memory_bytes{listener="1",kind="heap_used"} 50',
    'open_fds{listener="1"} 20',
  ])
})

test('one that does not answer is not up and has its restarts, nothing else', async () => {
  expect(await render(HELD)).toEqual(['up{listener="2"} 0', 'restarts_total{listener="2"} 4'])
})
