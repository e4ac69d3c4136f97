// Notifications by webhook and mail: order, retries, no duplicates, and no webhook to a private address that is not
// allowed.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { selfSigned } from '../fakes/certificate.ts'
import { headerOf, MAIL_USER, partOf, startMailSink, type MailSink } from '../fakes/smtp.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

const SECRET = 'another-secret-of-the-test-suites-0123'
let directory: string
let receiver: Server
let url: string
let service: Service
let env: Record<string, string>
let sink: MailSink
const certificate = selfSigned('localhost')
let failing = 0
const received: { headers: IncomingHttpHeaders; body: string }[] = []

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gate-notify-'))
  receiver = createServer((request, response) => {
    let body = ''
    request
      .on('data', (part) => (body += String(part)))
      .on('end', () => {
        if (failing-- > 0) return response.writeHead(500).end()
        received.push({ headers: request.headers, body })
        return response.end('ok')
      })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  url = `http://localhost:${(receiver.address() as AddressInfo).port}/hook`
  const about = (name: string, severity: 'critical' | 'high') => ({
    id: `SA-${name}`,
    ecosystem: 'Ubuntu:22.04:LTS',
    package: name,
    fixed: null,
    cve: `CVE-2026-8${name.length}00`,
    severity,
  })
  await writeAdvisories(directory, [about('held', 'high'), about('blocked', 'critical')])
  const authority = join(directory, 'authority.pem')
  await writeFile(authority, certificate.cert)
  sink = await startMailSink({ ...certificate, authOptional: false })
  env = { SVC_OSV_DIR: directory, OUTBOUND_ALLOWED_HOSTS: 'localhost', NODE_EXTRA_CA_CERTS: authority }
  service = await startService({ env })
  for (;;) if ((await service.call('POST', '/security/vulnscan/update')).status === 200) break
})
afterAll(async () => {
  await service?.stop()
  receiver.close()
  await sink.close()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

const upload = async (name: string, version?: string) =>
  (await service.upload(await buildDeb({ name, ...(version ? { version } : {}) }), 'x.deb', { distribution: 'jammy' }))
    .body.status
const configure = async (webhook: string) =>
  expect(
    (await service.call('PATCH', '/settings/', { notifications: { webhook_url: webhook, webhook_enabled: true } }))
      .status,
  ).toBe(200)
const events = () =>
  received.map(({ body }) => JSON.parse(body) as { event: string; id: string; text: string; data: { package: string } })

it('holds, blocks and decisions are sent in order and signed, once a webhook is configured', async () => {
  expect(await upload('held')).toBe('pending_review')
  await configure(url)
  // At its next round the channel skips events from the time it was disabled: the hold may still be sent.
  const sent = () => events().filter(({ event, data }) => event !== 'PENDING_REVIEW' || data.package !== 'held')
  expect(await upload('blocked')).toBe('quarantined')
  expect(await upload('plain')).toBe('published')
  await service.call('POST', '/security/packages/held/1.0-1/decide', {
    decision: 'approve',
    justification: 'fine here',
  })
  await expect.poll(() => sent().map(({ event }) => event), { interval: 500 }).toEqual(['CVE_BLOCKED', 'DECISION'])
  for (const { headers, body } of received) {
    expect(headers['x-svc-signature-256']).toBe(`sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`)
    expect(headers['x-svc-event']).toBe(JSON.parse(body).event)
    expect(headers['x-svc-delivery']).toBe(JSON.parse(body).id)
  }
  expect(sent()[0]).toMatchObject({
    text: expect.stringContaining('blocked 1.0-1 in jammy'),
    data: { package: 'blocked' },
  })
})

it('a failed delivery is retried, and the event is delivered once', async () => {
  received.length = 0
  failing = 1
  await service.call('POST', '/security/packages/held/1.0-1/quarantine', {})
  await service.call('POST', '/security/packages/held/1.0-1/rescan')
  expect(await upload('held-too')).toBe('published')
  await writeAdvisories(directory, [
    {
      id: 'SA-late',
      ecosystem: 'Ubuntu:22.04:LTS',
      package: 'held-too',
      fixed: null,
      cve: 'CVE-2026-9001',
      severity: 'high',
    },
  ])
  expect((await service.call('POST', '/security/vulnscan/update')).body.status).toBe('updated')
  await expect
    .poll(
      () =>
        events()
          .filter(({ data }) => data.package === 'held-too')
          .map(({ event }) => event),
      { interval: 500 },
    )
    .toEqual(['PENDING_REVIEW'])
  expect(failing).toBeLessThanOrEqual(0)
  expect(new Set(events().map(({ id }) => id)).size).toBe(received.length)
})

it('no connection is made to a private address that is not allowed', async () => {
  received.length = 0
  await configure(url.replace('localhost', '127.0.0.1'))
  await writeAdvisories(directory, [
    {
      id: 'SA-inside',
      ecosystem: 'Ubuntu:22.04:LTS',
      package: 'plain',
      fixed: null,
      cve: 'CVE-2026-9002',
      severity: 'high',
    },
  ])
  expect((await service.call('POST', '/security/vulnscan/update')).body.status).toBe('updated')
  await expect
    .poll(
      () =>
        service.log.some(
          (entry) => typeof entry === 'object' && entry['msg'] === 'a notification could not be delivered',
        ),
      { interval: 500 },
    )
    .toBe(true)
  expect(received).toEqual([])
})

const mail = () => ({
  enabled: true,
  smtp_host: 'localhost',
  smtp_port: sink.port,
  smtp_user: MAIL_USER.user,
  smtp_password: MAIL_USER.pass,
  from_address: 'Gatehouse <gate@example.org>',
  to_addresses: 'ann@example.org; bob@example.org',
})
const subjects = () => sink.received.map(({ raw }) => headerOf(raw, 'Subject'))
const mailsReceived = (count: number) => expect.poll(() => sink.received.length, { interval: 500 }).toBe(count)
const chained = (query: string) =>
  expect
    .poll(async () => (await service.call('GET', `/artifacts/audit/logs?${query}`)).body.items[0]?.hash ?? null)
    .not.toBeNull()

it('an admin tests the webhook and mail settings, and no answer contains a password', async () => {
  const test = (what: string) => service.call('POST', `/settings/test-${what}/`)
  expect(await test('email')).toMatchObject({
    status: 400,
    body: { code: 'validation_error', errors: [{ field: 'email.smtp_host', message: 'is not set' }] },
  })
  await service.call('PATCH', '/settings/', { email: { ...mail(), smtp_password: 'not-the-password' } })
  const refused = await test('email')
  expect(refused).toMatchObject({
    status: 200,
    body: { status: 'error', message: expect.stringContaining('does not let the user in: 535') },
  })
  expect((await service.call('PATCH', '/settings/', { email: mail() })).body.email.smtp_password).toBe('***')
  const taken = await test('email')
  expect(taken).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(sink.received).toMatchObject([
    { from: 'gate@example.org', to: ['ann@example.org', 'bob@example.org'], secure: true, user: MAIL_USER.user },
  ])
  received.length = 0
  expect(await test('webhook')).toMatchObject({
    status: 200,
    body: { status: 'error', message: expect.stringContaining('is not a public address') },
  })
  await configure(url)
  expect(await test('webhook')).toMatchObject({ status: 200, body: { status: 'ok', http_status: 200 } })
  expect(events()).toMatchObject([{ event: 'TEST', data: { user: 'admin' } }])
  expect(
    JSON.stringify([
      refused,
      taken,
      service.log,
      (await service.call('GET', '/artifacts/audit/logs?per_page=500')).body,
    ]),
  ).not.toMatch(/not-the-password|a-password-of-the-sink/)
})

it('a held upload sends one mail and its decision another', async () => {
  await chained('action=SETTINGS_TEST')
  sink.received.length = 0
  expect(await upload('held', '2.0-1')).toBe('pending_review')
  await mailsReceived(1)
  expect(await upload('harmless')).toBe('published')
  await service.call('POST', '/security/packages/held/2.0-1/decide', {
    decision: 'approve',
    justification: 'fine <b>here</b>',
  })
  await mailsReceived(2)
  expect(subjects()).toEqual([
    '[Gatehouse] held 2.0-1 in jammy waits for a decision',
    '[Gatehouse] held 2.0-1 in jammy: risk accepted',
  ])
  const [held, decided] = sink.received as [MailSink['received'][0], MailSink['received'][0]]
  for (const part of ['text/plain', 'text/html'] as const) {
    for (const word of ['held 2.0-1 (amd64) in jammy', 'High', '1 high']) expect(partOf(held.raw, part)).toContain(word)
    expect(partOf(decided.raw, part)).toContain('CVE-2026-8400')
  }
  expect(partOf(decided.raw, 'text/html')).toContain('fine &lt;b&gt;here&lt;/b&gt;')
})

it('a mail waits for a mail server that is down, even across a crash of the service', async () => {
  const { port } = sink
  await sink.close()
  expect(await upload('held', '3.0-1')).toBe('pending_review')
  // The webhook does not wait for the mail.
  await expect
    .poll(
      () =>
        events()
          .filter(({ text }) => text.includes('3.0-1'))
          .map(({ event }) => event),
      { interval: 500 },
    )
    .toEqual(['PENDING_REVIEW'])
  await service.kill()
  sink = await startMailSink({ ...certificate, authOptional: false }, port)
  service = await startService({ env, reposDir: service.reposDir, databaseUrl: service.databaseUrl })
  await mailsReceived(1)
  expect(subjects()).toEqual(['[Gatehouse] held 3.0-1 in jammy waits for a decision'])
})

it('a user who forgot the password gets a link that sets a new one, once', async () => {
  sink.received.length = 0
  await service.call('POST', '/auth/users', {
    username: 'forgetful',
    password: 'Before-pass-1',
    role: 'reader',
    email: 'forgetful@example.org',
    full_name: '',
  })
  await service.call('PATCH', '/settings/', { app_url: 'https://gate.example.org' })
  expect(
    (await service.call('POST', '/auth/forgot-password', { username: 'forgetful' }, { authorization: '' })).status,
  ).toBe(200)
  await mailsReceived(1)
  expect(sink.received).toMatchObject([{ to: ['forgetful@example.org'] }])
  const link = new URL(
    /https:\S+/.exec(partOf((sink.received[0] as MailSink['received'][0]).raw, 'text/plain'))?.[0] ?? '',
  )
  expect(link.href).toMatch(/^https:\/\/gate\.example\.org\/reset-password\?token=./)
  const token = link.searchParams.get('token') ?? ''
  const reset = () =>
    service.call('POST', '/auth/reset-password', { token, new_password: 'Afterwards-pass-1' }, { authorization: '' })
  expect([(await reset()).status, (await reset()).body.code]).toEqual([200, 'reset_token_invalid'])
  expect(
    (
      await service.call(
        'POST',
        '/auth/token',
        { username: 'forgetful', password: 'Afterwards-pass-1' },
        { authorization: '' },
      )
    ).status,
  ).toBe(200)
  expect(JSON.stringify(service.log)).not.toContain(token)
})
