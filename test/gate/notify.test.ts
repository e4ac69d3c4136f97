// What the outside is told: signed, in order, again after a failure, and never to an address of the own network that
// nobody allowed.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

const SECRET = 'another-secret-of-the-test-suites-0123'
let directory: string
let receiver: Server
let url: string
let service: Service
let failing = 0
const received: { headers: IncomingHttpHeaders; body: string }[] = []

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gate-notify-'))
  receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (part) => (body += String(part))).on('end', () => {
      if (failing-- > 0) return response.writeHead(500).end()
      received.push({ headers: request.headers, body })
      return response.end('ok')
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  url = `http://localhost:${(receiver.address() as AddressInfo).port}/hook`
  const about = (name: string, severity: 'critical' | 'high') => ({ id: `SA-${name}`, ecosystem: 'Ubuntu:22.04:LTS', package: name, fixed: null, cve: `CVE-2026-8${name.length}00`, severity })
  await writeAdvisories(directory, [about('held', 'high'), about('blocked', 'critical')])
  service = await startService({ env: { SVC_OSV_DIR: directory, OUTBOUND_ALLOWED_HOSTS: 'localhost' } })
  for (;;) if ((await service.call('POST', '/security/vulnscan/update')).status === 200) break
})
afterAll(async () => {
  await service?.stop()
  receiver.close()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

const upload = async (name: string) => (await service.upload(await buildDeb({ name }), 'x.deb', { distribution: 'jammy' })).body.status
const configure = async (webhook: string) => expect((await service.call('PATCH', '/settings/', { notifications: { webhook_url: webhook, webhook_enabled: true } })).status).toBe(200)
const events = () => received.map(({ body }) => JSON.parse(body) as { event: string; id: string; text: string; data: { package: string } })

it('what is held, blocked and decided is told in order, each signed, once it is asked for', async () => {
  // Before anybody listens: nobody is told of it later.
  expect(await upload('held')).toBe('pending_review')
  await expect.poll(async () => (await service.call('GET', '/artifacts/audit/logs?package=held')).body.items[0]?.hash ?? null, { timeout: 60_000 }).not.toBeNull()
  await configure(url)
  expect(await upload('blocked')).toBe('quarantined')
  expect(await upload('plain')).toBe('published')
  await service.call('POST', '/security/packages/held/1.0-1/decide', { decision: 'approve', justification: 'fine here' })
  await expect.poll(() => events().map(({ event }) => event), { timeout: 90_000, interval: 500 }).toEqual(['CVE_BLOCKED', 'DECISION'])
  for (const { headers, body } of received) {
    expect(headers['x-svc-signature-256']).toBe(`sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`)
    expect(headers['x-svc-event']).toBe(JSON.parse(body).event)
    expect(headers['x-svc-delivery']).toBe(JSON.parse(body).id)
  }
  expect(events()[0]).toMatchObject({ text: expect.stringContaining('blocked 1.0-1 in jammy'), data: { package: 'blocked' } })
})

it('a receiver that fails is tried again, and hears of it once', async () => {
  received.length = 0
  failing = 1
  await service.call('POST', '/security/packages/held/1.0-1/quarantine', {})
  await service.call('POST', '/security/packages/held/1.0-1/rescan')
  expect(await upload('held-too')).toBe('published')
  await writeAdvisories(directory, [{ id: 'SA-late', ecosystem: 'Ubuntu:22.04:LTS', package: 'held-too', fixed: null, cve: 'CVE-2026-9001', severity: 'high' }])
  expect((await service.call('POST', '/security/vulnscan/update')).body.status).toBe('updated')
  await expect.poll(() => events().filter(({ data }) => data.package === 'held-too').map(({ event }) => event), { timeout: 90_000, interval: 500 }).toEqual(['PENDING_REVIEW'])
  expect(failing).toBeLessThanOrEqual(0)
  expect(new Set(events().map(({ id }) => id)).size).toBe(received.length)
})

it('an address of the own network that nobody allowed is never asked', async () => {
  received.length = 0
  await configure(url.replace('localhost', '127.0.0.1'))
  await writeAdvisories(directory, [{ id: 'SA-inside', ecosystem: 'Ubuntu:22.04:LTS', package: 'plain', fixed: null, cve: 'CVE-2026-9002', severity: 'high' }])
  expect((await service.call('POST', '/security/vulnscan/update')).body.status).toBe('updated')
  await expect.poll(() => service.log.some((entry) => typeof entry === 'object' && entry['msg'] === 'a notification could not be delivered'), { timeout: 120_000, interval: 500 }).toBe(true)
  expect(received).toEqual([])
})
