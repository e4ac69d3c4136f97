// From the audit chain to real receivers on loopback: delivery once, retries, and independent channels. letters.test.ts
// tests the content of mails.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { headerOf, MAIL_USER, partOf, startMailSink, type MailSink } from '../../../test/fakes/smtp.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { Settings } from '../../domain/settings.ts'
import { createHttpClient, type HttpClient } from '../../kernel/http-client.ts'
import { createLog } from '../../kernel/log.ts'
import { finding, insertRecord } from '../../packages/documents/fixture.ts'
import { createAuditLog, type AuditLog } from '../log.ts'
import type { Database } from '../../store/db.ts'
import { createNotifier, type Notifier } from './notifier.ts'
import type { Outbox } from './outbox.ts'

type Writable<T> = { -readonly [K in keyof T]?: T[K] }

let database: Database
let http: HttpClient
let sink: MailSink
let receiver: Server
let posted: any[]
let answer: number
/** headers of each answer */
let headers: Record<string, string>
let requests: number
let time: number
let set: { email: Writable<Settings['email']>; notifications: Writable<Settings['notifications']> }
let audit: AuditLog
let notifier: Notifier
let lines: { msg: string; level: string; err?: { message: string } }[]
const clock = { now: () => new Date(time) }
const always = () => true

beforeAll(async () => {
  database = await createTestDatabase()
  http = createHttpClient({ allowPrivate: true })
})
afterAll(async () => {
  await http.close()
  await database.close()
})

beforeEach(async () => {
  time = Date.parse('2026-03-05T00:00:00Z')
  posted = []
  lines = []
  answer = 200
  headers = {}
  requests = 0
  sink = await startMailSink()
  receiver = createServer((request, response) => {
    let body = ''
    requests++
    request
      .on('data', (part) => (body += String(part)))
      .on('end', () => {
        if (answer === 200) posted.push({ ...JSON.parse(body), headers: request.headers })
        response.writeHead(answer, headers).end()
      })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  set = {
    email: {
      enabled: true,
      smtp_host: 'localhost',
      smtp_port: sink.port,
      smtp_user: '',
      smtp_password: '',
      use_tls: true,
      from_address: 'gate@example.org',
      to_addresses: 'ann@example.org; bob@example.org',
    },
    notifications: {
      webhook_enabled: true,
      webhook_min_packages: 1,
      webhook_format: 'generic',
      webhook_url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook?token=of-the-hook`,
    },
  }
  audit = createAuditLog({
    key: 'k',
    db: database.db,
    clock,
    directory: '/nonexistent',
    checkpoint: () => {},
    mayFile: () => false,
    onError: (error) => lines.push({ level: 'error', msg: String(error) }),
  })
  await audit.flush()
  notifier = another()
  for (const outbox of notifier.outboxes) await outbox.deliver(always)
})
afterEach(async () => {
  await sink.close()
  receiver.close()
  for (const table of ['notify_cursor', 'audit', 'findings', 'capabilities', 'offers', 'packages', 'blobs'] as const)
    await database.db.deleteFrom(table).execute()
})

/** Another notifier on the same database, as a second replica has. */
const another = (db = database.db) =>
  createNotifier({
    allowPrivate: true,
    allowedHosts: [],
    db,
    clock,
    http,
    log: createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }),
    secret: null,
    httpsOnly: false,
    tls: { ca: sink.cert },
    settings: () => ({ app_url: 'https://gate.example.org/', ...set }) as Settings,
  })
const channel = (name: string, of = notifier): Outbox => of.outboxes.find((outbox) => outbox.name === name) as Outbox
const deliver = (name: string) => channel(name).deliver(always)
const errors = () => lines.filter(({ level }) => level === 'error')
const subjects = () => sink.received.map(({ raw }) => headerOf(raw, 'Subject'))

async function happen(...events: Partial<AuditEvent>[]): Promise<void> {
  for (const event of events)
    await audit.record({
      action: 'UPLOAD',
      result: 'SUCCESS',
      user: 'ann',
      version: '1.0-1',
      distribution: 'jammy',
      arch: 'amd64',
      ...event,
    })
  await audit.flush()
}
const held = (name: string): Partial<AuditEvent> => ({
  package: name,
  outcome: 'pending_review',
  result: 'WARNING',
  detail: '1 high',
})

describe('mail', () => {
  test('reports a held package and its findings to each recipient', async () => {
    await insertRecord(database.db, {
      name: 'openssl',
      status: 'pending_review',
      findings: [finding('CVE-2026-1', { in_kev: true }), finding('CVE-2026-2', { severity: 'Low' })],
    })
    await happen(held('openssl'))
    expect(await deliver('mail')).toBe(1)
    expect(sink.received).toMatchObject([
      { from: 'gate@example.org', to: ['ann@example.org', 'bob@example.org'], secure: true },
    ])
    const { raw } = sink.received[0] as MailSink['received'][0]
    expect(headerOf(raw, 'Subject')).toBe(
      '[Gatehouse] openssl 1.0-1 in jammy waits for a decision: known to be exploited',
    )
    expect(headerOf(raw, 'X-Svc-Event')).toBe('PENDING_REVIEW')
    for (const part of ['text/plain', 'text/html'] as const)
      for (const word of [
        'openssl 1.0-1 (amd64) in jammy',
        'High',
        '1 high, 1 low',
        'CVE-2026-1',
        'https://gate.example.org/',
      ])
        expect(partOf(raw, part)).toContain(word)
    expect(await deliver('mail')).toBe(0)
    expect(sink.received).toHaveLength(1)
  })

  test('reports decisions and deadlines and nothing else', async () => {
    await happen(
      { action: 'LOGIN' },
      { package: 'fine', outcome: 'published' },
      { package: 'sick', outcome: 'quarantined', result: 'FAILURE' },
      {
        action: 'SECURITY_DECISION',
        package: 'held',
        outcome: 'accept_risk',
        detail: 'not reachable',
        extra: { cve_ids: ['CVE-2026-3'] },
      },
      { action: 'SLA_EXPIRED', package: 'late', outcome: 'overdue', extra: { due_at: '2026-03-04T00:00:00Z' } },
      {
        action: 'SLA_EXPIRING',
        extra: {
          items: [
            { package: 'soon', version: '2', arch: 'amd64', distribution: 'jammy', due_at: '2026-03-09T00:00:00Z' },
          ],
        },
      },
      { action: 'SLA_EXPIRED', package: 'back', outcome: 'published', detail: 'the exception ran out' },
    )
    expect(await deliver('mail')).toBe(4)
    expect(subjects()).toEqual(
      [
        'held 1.0-1 in jammy: risk accepted',
        '1 deadline missed',
        '1 deadline within a week',
        'back 1.0-1 in jammy waits for a decision',
      ].map((subject) => `[Gatehouse] ${subject}`),
    )
    const bodies = sink.received.map(({ raw }) => partOf(raw, 'text/plain'))
    expect(bodies[0]).toContain('CVE-2026-3')
    expect(bodies[1]).toContain('Was due: 2026-03-04')
    expect(bodies[2]).toContain('soon 2 (amd64) in jammy')
  })

  test('reports alerts and runs that failed, of each kind together', async () => {
    const infected = { package: 'eicar', outcome: 'quarantined', result: 'FAILURE' as const, detail: 'Eicar-Test' }
    await insertRecord(database.db, { name: 'eicar', status: 'quarantined', pipeline: { antivirus: 'infected' } })
    const run = (action: string, result: AuditEvent['result'], detail: string, extra: object = {}) => ({
      ...{ action, result, detail, package: null, version: null, arch: null, distribution: null },
      extra: { ...extra },
    })
    await happen(
      infected,
      run('SYNC', 'SUCCESS', 'Debian: 9 packages, 9 of them new or changed', { changed: 9 }),
      run('SYNC', 'FAILURE', 'Debian: deb.example.org did not answer in time'),
      run('MIRROR', 'SUCCESS', '9 added', { added: 9 }),
      run('SYNC', 'FAILURE', 'Ubuntu: the signature is not of a known key'),
      run('MIRROR', 'FAILURE', 'the disk is full'),
      run('INTEGRITY_ALERT', 'FAILURE', '1 file differs from what was stored: pool/a.deb (missing)'),
      run('SCHEDULER_JOB_FAILED', 'FAILURE', 'Backup: the directory is away'),
    )
    expect(await deliver('mail')).toBe(5)
    expect(subjects()).toEqual(
      [
        'malware was found in a package',
        '2 syncs failed',
        'a mirror run failed',
        'files differ from what was stored',
        'a scheduled job failed',
      ].map((subject) => `[Gatehouse] ${subject}`),
    )
    const bodies = sink.received.map(({ raw }) => partOf(raw, 'text/plain'))
    for (const words of ['eicar 1.0-1 (amd64) in jammy', 'Eicar-Test']) expect(bodies[0]).toContain(words)
    for (const words of ['did not answer in time', 'not of a known key']) expect(bodies[1]).toContain(words)
    expect(bodies[3]).toContain('pool/a.deb (missing)')
  })

  test('combines consecutive events of one kind, even with other entries in between', async () => {
    await happen(
      held('one'),
      { action: 'LOGIN' },
      held('two'),
      { action: 'SECURITY_DECISION', package: 'one', outcome: 'reject' },
      held('three'),
    )
    expect(await deliver('mail')).toBe(3)
    expect(subjects()).toEqual([
      '[Gatehouse] 2 packages wait for a decision',
      '[Gatehouse] one 1.0-1 in jammy: rejected',
      '[Gatehouse] three 1.0-1 in jammy waits for a decision',
    ])
  })

  test('waits for a server that is down, across a restart', async () => {
    await sink.close()
    await happen(held('patient'))
    expect(await deliver('mail')).toBe(0)
    sink = await startMailSink({}, sink.port)
    notifier = another()
    expect(await deliver('mail')).toBe(0)
    time += 31_000
    expect(await deliver('mail')).toBe(1)
    expect(subjects()).toEqual(['[Gatehouse] patient 1.0-1 in jammy waits for a decision'])
    expect(errors()).toEqual([])
  })

  test('is abandoned after three attempts with a log line, and the next one is sent', async () => {
    set.email = { ...set.email, smtp_user: MAIL_USER.user, smtp_password: 'not-the-password' }
    await happen(held('lost'))
    for (let i = 0; i < 3; i++, time += 301_000) expect(await deliver('mail')).toBe(0)
    expect(errors()).toMatchObject([
      {
        msg: 'a notification could not be delivered',
        channel: 'mail',
        err: { message: expect.stringContaining('does not let the user in: 535') },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain('not-the-password')
    set.email.smtp_password = MAIL_USER.pass
    await happen(held('kept'))
    expect(await deliver('mail')).toBe(1)
    expect(subjects()).toEqual(['[Gatehouse] kept 1.0-1 in jammy waits for a decision'])
  })

  test('is sent once when two processes both believe they are the leader', async () => {
    await happen(held('once'))
    const sent = await Promise.all([notifier, another(), another()].map((one) => channel('mail', one).deliver(always)))
    expect(sent.reduce((sum, n) => sum + n)).toBe(1)
    expect(sink.received).toHaveLength(1)
  })

  test('reserved by a process that died is sent by another', async () => {
    await happen(held('taken'))
    await database.db
      .updateTable('notify_cursor')
      .set({ retry_at: new Date(time + 20_000) })
      .where('id', '=', 2)
      .execute()
    expect(await deliver('mail')).toBe(0)
    time += 21_000
    expect(await deliver('mail')).toBe(1)
  })

  test('is not sent after the process begins to stop', async () => {
    await happen(held('first'), { action: 'SECURITY_DECISION', package: 'first', outcome: 'reject' })
    let asked = 0
    expect(await channel('mail').deliver(() => asked++ === 0)).toBe(1)
    expect(await deliver('mail')).toBe(1)
    expect(new Set(subjects()).size).toBe(2)
  })

  test('skips events from while it was disabled or not configured; the latter is logged once', async () => {
    set.email.enabled = false
    await happen(held('unheard'))
    expect(await deliver('mail')).toBe(0)
    set.email = { ...set.email, enabled: true, to_addresses: ' ; ' }
    await happen(held('unheard'))
    for (let i = 0; i < 2; i++) expect(await deliver('mail')).toBe(0)
    expect(lines).toMatchObject([{ level: 'warn', msg: expect.stringContaining('email.to_addresses is not set') }])
    set.email.to_addresses = 'ann@example.org'
    expect(await deliver('mail')).toBe(0)
    await happen(held('heard'))
    expect(await deliver('mail')).toBe(1)
  })
})

describe('the webhook', () => {
  test('is delivered while mail is down, and mail while the webhook is down', async () => {
    await sink.close()
    await happen(held('both'), {
      action: 'SCHEDULER_JOB_FAILED',
      package: null,
      detail: 'Read advisories: osv.example.org answered 503',
    })
    expect(await deliver('mail')).toBe(0)
    expect(await deliver('webhook')).toBe(2)
    expect(posted).toMatchObject([
      { event: 'PENDING_REVIEW', data: { package: 'both' } },
      {
        event: 'SCHEDULER_JOB_FAILED',
        text: 'Gatehouse: a scheduled job failed (Read advisories: osv.example.org answered 503)',
      },
    ])
    sink = await startMailSink({}, sink.port)
    notifier = another()
    answer = 500
    time += 31_000
    await happen(held('later'))
    expect(await deliver('webhook')).toBe(0)
    expect(await deliver('mail')).toBe(3)
    expect(subjects()).toEqual(
      [
        'both 1.0-1 in jammy waits for a decision',
        'a scheduled job failed',
        'later 1.0-1 in jammy waits for a decision',
      ].map((subject) => `[Gatehouse] ${subject}`),
    )
    answer = 200
    time += 3_000
    expect(await deliver('webhook')).toBe(1)
    expect(posted.map(({ data }) => data.package as string)).toEqual(['both', null, 'later'])
  })
})

describe('a chat', () => {
  const attack = '</b><!channel> <@U1> <https://evil.example|click> [click](https://evil.example) *x* @here {{DATE(1)}}'
  /** Every event of the list, as the audit entry that gives it. */
  const entries: [string, Partial<AuditEvent>][] = [
    ['CVE_BLOCKED', { package: 'blocked', outcome: 'quarantined', result: 'FAILURE' }],
    ['PENDING_REVIEW', held('waits')],
    ['DECISION', { action: 'SECURITY_DECISION', package: 'waits', outcome: 'reject', user: attack }],
    ['SLA_EXPIRING', { action: 'SLA_EXPIRING', package: null }],
    ['SLA_OVERDUE', { action: 'SLA_EXPIRED', package: 'late', outcome: 'overdue' }],
    ['SYNC_RESULT', { action: 'SYNC', package: null, extra: { changed: 2 } }],
    ['MIRROR_RESULT', { action: 'MIRROR', package: null, extra: { added: 2 } }],
    ['UPLOAD_FAILED', { package: attack, outcome: 'rejected', result: 'FAILURE' }],
    ['ANTIVIRUS_HIT', { package: 'eicar', outcome: 'quarantined', result: 'FAILURE' }],
    ['INTEGRITY_ALERT', { action: 'INTEGRITY_ALERT', package: null, result: 'FAILURE' }],
    ['SCHEDULER_JOB_FAILED', { action: 'SCHEDULER_JOB_FAILED', package: null, result: 'FAILURE' }],
  ]

  test.each(['generic', 'slack', 'teams'] as const)('gets each event once, in the form %s', async (format) => {
    set.notifications.webhook_format = format
    await insertRecord(database.db, { name: 'blocked', status: 'quarantined', pipeline: { cve_scan: 'blocked' } })
    await insertRecord(database.db, { name: 'eicar', status: 'quarantined', pipeline: { antivirus: 'infected' } })
    await happen(...entries.map(([, event]) => ({ ...event, detail: attack })))
    expect(await deliver('webhook')).toBe(entries.length)
    expect((await notifier.testWebhook('ann')).status).toBe('ok')
    const events = [...entries.map(([event]) => event), 'TEST']
    expect(posted.map(({ headers }) => headers['x-svc-event'])).toEqual(events)
    expect(new Set(posted.map(({ headers }) => headers['x-svc-delivery'])).size).toBe(events.length)
    for (const [at, message] of posted.entries()) {
      if (format === 'generic') expect(message.event).toBe(events[at])
      if (format === 'slack') expect(Object.keys(message)).toContain('blocks')
      if (format === 'teams') expect(message).toMatchObject({ type: 'message', attachments: [{ contentUrl: null }] })
      if (format !== 'generic') expect(JSON.stringify(message)).toContain('https://gate.example.org/')
      if (at < entries.length) expect(JSON.stringify(message)).toContain('click')
    }
  })

  test('is called again when it asks for less', async () => {
    set.notifications.webhook_format = 'slack'
    answer = 429
    await happen(held('patient'))
    expect(await deliver('webhook')).toBe(0)
    answer = 200
    time += 2_001
    expect(await deliver('webhook')).toBe(1)
    expect(posted[0].text).toBe('patient 1.0-1 in jammy: waits for a decision (1 high)')
  })

  const FOREVER = 1_000_000
  test.each([
    ['seconds', '120', 120],
    ['less than it would be given anyway', '1', 2],
    ['a date', new Date(Date.now() + FOREVER * 1000).toUTCString(), 900],
    ['more than anybody waits', String(FOREVER), 900],
    ['nothing that can be read', 'soon', 2],
  ])('is not called before the time it asks for: %s', async (_, asked, seconds) => {
    answer = 429
    headers = { 'retry-after': asked }
    await happen(held('patient'))
    expect([await deliver('webhook'), requests]).toEqual([0, 1])
    answer = 200
    time += seconds * 1000 - 1
    expect([await channel('webhook', another()).deliver(always), requests]).toEqual([0, 1])
    time += 1
    expect([await deliver('webhook'), requests]).toEqual([1, 2])
  })

  test('that is given up after three tries is not called with the next message before its time either', async () => {
    answer = 429
    headers = { 'retry-after': '60' }
    await happen(held('first'), held('second'))
    for (let tries = 1; tries <= 3; tries++, time += 60_000)
      expect([await deliver('webhook'), requests]).toEqual([0, tries])
    expect(errors()).toMatchObject([{ msg: 'a notification could not be delivered' }])
    answer = 200
    time -= 1
    expect([await deliver('webhook'), requests]).toEqual([0, 3])
    time += 1
    expect([await deliver('webhook'), requests]).toEqual([1, 4])
    expect(posted.map(({ data }) => data.package)).toEqual(['second'])
  })
})

describe('a test of the settings', () => {
  test('arrives, also while the channel is disabled', async () => {
    set.email.enabled = set.notifications.webhook_enabled = false
    expect(await notifier.testWebhook('ann')).toEqual({
      status: 'ok',
      http_status: 200,
      message: 'the receiver answered 200',
    })
    expect(posted).toMatchObject([{ event: 'TEST', id: expect.stringMatching(/^test-/), data: { user: 'ann' } }])
    expect(await notifier.testMail('ann')).toEqual({
      status: 'ok',
      message: `localhost:${sink.port} took the mail for ann@example.org, bob@example.org`,
    })
    expect(subjects()).toEqual(['[Gatehouse] test mail'])
    expect(sink.received).toMatchObject([{ to: ['ann@example.org', 'bob@example.org'] }])
  })

  test('returns the error without secrets', async () => {
    answer = 418
    expect(await notifier.testWebhook('ann')).toMatchObject({
      status: 'error',
      http_status: 418,
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ answered 418$/),
    })
    set.notifications.webhook_url = 'http://127.0.0.1:1/hook?token=of-the-hook'
    const unreachable = await notifier.testWebhook('ann')
    expect(unreachable).toEqual({ status: 'error', message: '127.0.0.1:1 could not be read: ECONNREFUSED' })
    set.email = { ...set.email, smtp_user: MAIL_USER.user, smtp_password: 'not-the-password' }
    const login = await notifier.testMail('ann')
    expect(login).toEqual({ status: 'error', message: expect.stringContaining('does not let the user in: 535') })
    expect(JSON.stringify([unreachable, login])).not.toMatch(/of-the-hook|not-the-password/)
  })

  test.each([
    ['notifications.webhook_url', 'testWebhook', ''],
    ['email.smtp_host', 'testMail', ''],
    ['email.from_address', 'testMail', ''],
    ['email.to_addresses', 'testMail', ','],
  ] as const)('names %s when it is not set', async (field, which, value) => {
    const [section, key] = field.split('.') as ['email', string]
    Object.assign(set[section], { [key]: value })
    await expect(notifier[which]('ann')).rejects.toMatchObject({
      code: 'validation_error',
      extra: { errors: [{ field, message: 'is not set' }] },
    })
  })
})

describe('a forgotten password', () => {
  const user = { username: 'ann', email: 'ann@example.org' }

  test('is answered with a mail of the link to its owner, and the token is not logged', async () => {
    await notifier.sendReset(user, 'the-token_of-ann', 30)
    expect(sink.received).toMatchObject([{ to: ['ann@example.org'] }])
    expect(partOf((sink.received[0] as MailSink['received'][0]).raw, 'text/plain')).toContain(
      'https://gate.example.org/reset-password?token=the-token_of-ann',
    )
    await sink.close()
    await notifier.sendReset(user, 'the-token_of-ann', 30)
    expect(errors()).toMatchObject([
      {
        msg: 'the link to set a new password could not be mailed',
        err: { message: expect.stringContaining('ECONNREFUSED') },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain('the-token_of-ann')
  })

  test('is not mailed while mail is disabled, nor to an address that contains two', async () => {
    await notifier.sendReset({ ...user, email: 'ann@example.org,eve@example.org' }, 'token', 30)
    set.email.enabled = false
    await notifier.sendReset(user, 'token', 30)
    expect(sink.connections).toBe(0)
    expect(lines.map(({ level }) => level)).toEqual(['error', 'warn'])
  })
})

test('an alert behind an import of 60,000 packages is sent by the next look, with a few queries', async () => {
  await sql`with chain as (select seq from audit_chain), added as (
    insert into audit (at, action, result, outcome, extra, seq)
      select now(), 'IMPORT', 'SUCCESS', 'published', '{}', chain.seq + n from chain, generate_series(1, 60000) n returning 1)
    update audit_chain set seq = seq + (select count(*) from added)`.execute(database.db)
  await happen({ action: 'INTEGRITY_ALERT', result: 'FAILURE', package: 'openssl' })
  let queries = 0
  const counted = database.db.withPlugin({
    transformQuery: ({ node }) => (queries++, node),
    transformResult: ({ result }) => Promise.resolve(result),
  })
  const slow = channel('webhook', another(counted))
  expect(await slow.deliver(always)).toBe(1)
  expect(posted).toMatchObject([{ event: 'INTEGRITY_ALERT' }])
  expect(queries).toBeLessThan(20)
  // Nothing is looked through twice.
  queries = 0
  expect(await slow.deliver(always)).toBe(0)
  expect(queries).toBe(2)
})

test('everything that waits is sent by one look', async () => {
  await happen(...Array.from({ length: 250 }, (_, n) => held(`p${n}`)))
  expect(await deliver('webhook')).toBe(250)
})
