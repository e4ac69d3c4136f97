import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { headerOf, MAIL_USER, partOf, startMailSink, type MailSink } from '../../../test/fakes/smtp.ts'
import type { Settings } from '../../domain/settings.ts'
import { createMailer, recipientsOf, type Mail, type MailError } from './mail.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})
const AT = new Date('2026-03-01T12:00:00Z')
const clock = { now: () => AT }
const UNSAFE = { rejectUnauthorized: false }

async function sink(options?: Parameters<typeof startMailSink>[0]): Promise<MailSink> {
  const made = await startMailSink(options)
  closing.push(made.close)
  return made
}

type Email = Settings['email']
const email = (port: number, set: Partial<Email> = {}): Email => ({
  enabled: true,
  smtp_host: '127.0.0.1',
  smtp_port: port,
  smtp_user: '',
  smtp_password: '',
  use_tls: true,
  from_address: 'gate@example.org',
  to_addresses: '',
  ...set,
})
const mailer = (set: Email, more: Partial<Parameters<typeof createMailer>[0]> = {}) =>
  createMailer({
    settings: () => ({ email: set }) as Settings,
    clock,
    allowPrivate: true,
    allowedHosts: [],
    limitMs: 600_000,
    ...more,
  })
const mail = (set: Partial<Mail> = {}): Mail => ({
  id: 'audit-1-abc',
  to: ['ann@example.org'],
  subject: 'Held',
  text: 'plain words',
  html: '<p>marked words</p>',
  event: 'TEST',
  ...set,
})

describe('a mail', () => {
  test('is sent as text and HTML over STARTTLS, with the right sender and recipients', async () => {
    const server = await sink()
    const to = ['ann@example.org', 'bob@example.org']
    expect(
      await mailer(email(server.port, { smtp_host: 'localhost', from_address: 'The Gate <gate@example.org>' }), {
        tls: { ca: server.cert },
      }).send(mail({ to, subject: 'Held: größer ⚠', text: 'Grüße\n.\nend', html: '<b>größer</b>' })),
    ).toEqual({ refused: [] })
    const [got] = server.received as [MailSink['received'][0]]
    expect(got).toMatchObject({ from: 'gate@example.org', to, secure: true, user: false })
    expect(headerOf(got.raw, 'From')).toBe('The Gate <gate@example.org>')
    expect(headerOf(got.raw, 'Subject')).toBe('Held: größer ⚠')
    expect(headerOf(got.raw, 'Message-ID')).toBe('<audit-1-abc@example.org>')
    expect(new Date(headerOf(got.raw, 'Date') ?? '')).toEqual(AT)
    expect(headerOf(got.raw, 'Auto-Submitted')).toBe('auto-generated')
    expect(got.raw).not.toMatch(/nodemailer/i)
    expect(partOf(got.raw, 'text/plain').trim()).toBe('Grüße\r\n.\r\nend')
    expect(partOf(got.raw, 'text/html').trim()).toBe('<b>größer</b>')
  })

  test('uses TLS from the start on port 465', async ({ skip }) => {
    const server = await startMailSink({ secure: true }, 465).catch(() => skip('port 465 cannot be had here'))
    closing.push(server.close)
    for (const use_tls of [true, false]) {
      await expect(mailer(email(465, { smtp_host: 'localhost', use_tls })).send(mail())).rejects.toMatchObject({
        reason: 'tls',
      })
      await mailer(email(465, { smtp_host: 'localhost', use_tls }), { tls: { ca: server.cert } }).send(mail())
    }
    expect(server.received).toMatchObject([{ secure: true }, { secure: true }])
  })

  test('logs in when a user is set, with the current settings', async () => {
    const server = await sink({ authOptional: false })
    let now = email(server.port)
    const sender = createMailer({
      settings: () => ({ email: now }) as Settings,
      clock,
      allowPrivate: true,
      allowedHosts: [],
      tls: UNSAFE,
    })
    await expect(sender.send(mail())).rejects.toMatchObject({ reason: 'refused' })
    now = { ...now, smtp_user: MAIL_USER.user, smtp_password: MAIL_USER.pass }
    await sender.send(mail())
    expect(server.received).toMatchObject([{ user: 'gate', secure: true }])
  })

  test('is sent without TLS only when use_tls is off', async () => {
    const server = await sink({ hideSTARTTLS: true, disabledCommands: ['STARTTLS'] })
    await expect(mailer(email(server.port)).send(mail())).rejects.toMatchObject({
      reason: 'tls',
      message: expect.stringContaining('STARTTLS'),
    })
    expect(server.received).toEqual([])
    await mailer(email(server.port, { use_tls: false })).send(mail())
    expect(server.received).toMatchObject([{ secure: false }])
  })

  test('uses TLS when the server offers it, even with use_tls off and an untrusted certificate', async () => {
    const server = await sink()
    await mailer(email(server.port, { use_tls: false })).send(mail())
    expect(server.received).toMatchObject([{ secure: true }])
  })

  test('reaches the other recipients when the server refuses one', async () => {
    const server = await sink({
      onRcptTo: ({ address }, _session, done) => done(address.startsWith('gone') ? new Error('no such user') : null),
    })
    expect(
      await mailer(email(server.port), { tls: UNSAFE }).send(mail({ to: ['gone@example.org', 'ann@example.org'] })),
    ).toEqual({ refused: ['gone@example.org'] })
    expect(server.received).toMatchObject([{ to: ['ann@example.org'] }])
  })
})

describe('the error names the reason and no secret for', () => {
  const errorOf = async (work: Promise<unknown>): Promise<MailError> =>
    work.then(
      () => expect.fail('it was sent'),
      (error: MailError) => error,
    )

  test('an untrusted certificate', async () => {
    const server = await sink()
    expect(await errorOf(mailer(email(server.port)).send(mail()))).toMatchObject({
      reason: 'tls',
      message: expect.stringMatching(/certificate/),
    })
    expect(server.received).toEqual([])
  })

  test('a certificate for another host', async () => {
    const server = await sink()
    const message = await errorOf(mailer(email(server.port), { tls: { ca: server.cert } }).send(mail()))
    expect(message).toMatchObject({ reason: 'tls', message: expect.stringMatching(/127\.0\.0\.1/) })
  })

  test('a wrong password', async () => {
    const server = await sink()
    const { reason, message } = await errorOf(
      mailer(email(server.port, { smtp_user: 'gate', smtp_password: 'wrong-secret' }), { tls: UNSAFE }).send(mail()),
    )
    expect([reason, message]).toEqual([
      'login',
      expect.stringMatching(/does not let the user in: 535 .*wrong name or password/),
    ])
    expect(message).not.toContain('wrong-secret')
  })

  test('a server that is down, and an unknown name', async () => {
    const server = await sink()
    await server.close()
    closing.length = 0
    expect(await errorOf(mailer(email(server.port)).send(mail()))).toMatchObject({
      reason: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    expect(await errorOf(mailer(email(25, { smtp_host: 'mail.invalid' })).send(mail()))).toMatchObject({
      reason: 'unreachable',
    })
  })

  test('a mail that the server refuses', async () => {
    const server = await sink({
      onMailFrom: (_address, _session, done) => done(Object.assign(new Error('over quota'), { responseCode: 452 })),
    })
    expect(await errorOf(mailer(email(server.port), { tls: UNSAFE }).send(mail()))).toMatchObject({
      reason: 'refused',
      message: expect.stringContaining('452 over quota'),
    })
  })

  async function listening(server: Server): Promise<number> {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    closing.push(() => server.close())
    return (server.address() as AddressInfo).port
  }

  test('a server that never answers, after the time limit', async () => {
    const open = new Set<{ destroy(): void }>()
    const port = await listening(createServer((socket) => void open.add(socket.on('error', () => {}))))
    closing.push(() => open.forEach((socket) => socket.destroy()))
    expect(await errorOf(mailer(email(port), { limitMs: 200 }).send(mail()))).toMatchObject({ reason: 'timeout' })
  })

  test('a server of another protocol, whose bytes are not shown', async () => {
    const port = await listening(
      createServer(
        (socket) => void socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\nSecret: of the inner network\r\n\r\n'),
      ),
    )
    const { message } = await errorOf(mailer(email(port)).send(mail()))
    expect(message).not.toMatch(/Secret|inner|HTTP/)
  })

  test.each([
    '127.0.0.1',
    'localhost',
    'LOCALHOST',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '0',
    '0.0.0.0',
    '::1',
    '[::1]',
    '::127.0.0.1',
    '[::ffff:127.0.0.1]',
    '0:0:0:0:0:ffff:7f00:1',
    '0064:ff9b::7f00:1',
    '2002:7f00:1::',
    '10.0.0.1',
    'fd00::1',
    'fec0::1',
  ])('a private address written as %s, alike for open and closed ports', async (host) => {
    const server = await sink()
    const guarded = { allowPrivate: false, allowedHosts: ['relay.example.org'] }
    const answers = []
    for (const port of [server.port, 1]) {
      const { reason, message } = await errorOf(mailer(email(port, { smtp_host: host }), guarded).send(mail()))
      answers.push([reason, message])
    }
    expect(answers[0]).toEqual(['forbidden_target', expect.stringContaining('must not be reached')])
    expect(answers[1]).toEqual(answers[0])
    expect(server.connections).toBe(0)
  })

  test('an allowed private address, alike for open and closed ports', async () => {
    const server = await sink()
    const allowed = { allowPrivate: false, allowedHosts: ['localhost'], tls: UNSAFE }
    await mailer(email(server.port, { smtp_host: 'localhost' }), allowed).send(mail())
    expect(server.received).toHaveLength(1)
    const silent = await listening(createServer((socket) => void socket.on('error', () => {}).end('SSH-2.0-x\r\n')))
    const reasons = new Set<string>()
    for (const port of [silent, 1]) {
      const { shown } = await errorOf(mailer(email(port, { smtp_host: 'localhost' }), allowed).send(mail()))
      reasons.add(shown)
    }
    expect([...reasons]).toEqual(['the server could not be used as a mail server; the log says why'])
  })

  test.each([
    '169.254.169.254',
    '[fe80::1]',
    '100.100.100.200',
    '168.63.129.16',
    '[::ffff:169.254.169.254]',
    '2852039166',
  ])('%s, which is refused even when it is allowed', async (smtp_host) => {
    const allowed = { allowPrivate: true, allowedHosts: [smtp_host] }
    expect(await errorOf(mailer(email(25, { smtp_host }), allowed).send(mail()))).toMatchObject({
      reason: 'forbidden_target',
    })
  })

  test('missing settings', async () => {
    expect(mailer(email(25, { smtp_host: '' })).lacks()).toBe('email.smtp_host')
    expect(mailer(email(25, { from_address: '' })).lacks()).toBe('email.from_address')
    expect(await errorOf(mailer(email(25, { from_address: '' })).send(mail()))).toMatchObject({
      reason: 'not_configured',
      message: 'email.from_address is not set',
    })
    expect(await errorOf(mailer(email(25)).send(mail({ to: [] })))).toMatchObject({ reason: 'not_configured' })
  })
})

describe('header injection', () => {
  test('fails with a line break in the subject or the event', async () => {
    const server = await sink()
    await mailer(email(server.port), { tls: UNSAFE }).send(
      mail({ subject: 'Held\r\nBcc: eve@example.org\r\n\r\nbody', event: 'TEST\r\nX-Evil: 1', id: 'a\r\nX-Evil: 2' }),
    )
    const [got] = server.received as [MailSink['received'][0]]
    expect(got.to).toEqual(['ann@example.org'])
    for (const name of ['Bcc', 'X-Evil']) expect(headerOf(got.raw, name)).toBeNull()
  })

  test.each([
    'ann@example.org\r\nBcc: eve@example.org',
    'ann@example.org, eve@example.org',
    'Ann <ann@example.org>',
    'ann@example.org> RCPT TO:<eve@example.org',
    '',
    'a b@example.org',
  ])('fails with the recipient %j, and nothing is sent', async (address) => {
    const server = await sink()
    await expect(
      mailer(email(server.port), { tls: UNSAFE }).send(mail({ to: ['ann@example.org', address] })),
    ).rejects.toMatchObject({ reason: 'bad_address' })
    expect(server.connections).toBe(0)
  })

  test('fails with the sender', async () => {
    for (const from_address of [
      'Gate\r\nBcc: eve@example.org <gate@example.org>',
      'gate@example.org\r\nBcc: eve@example.org',
    ])
      await expect(mailer(email(25, { from_address })).send(mail())).rejects.toMatchObject({ reason: 'bad_address' })
  })
})

test.each([
  ['', []],
  ['ann@example.org', ['ann@example.org']],
  ['ann@example.org, bob@example.org;eve@example.org ;', ['ann@example.org', 'bob@example.org', 'eve@example.org']],
  ['ann@example.org,ann@example.org', ['ann@example.org']],
])('the recipients %j are %j', (list, expected) => {
  expect(recipientsOf(list)).toEqual(expected)
})
