// Sends one mail with the current SMTP settings.
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, type LookupFunction, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import nodemailer from 'nodemailer'
import { isMailbox } from '../../domain/setting-kinds.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isForbidden } from '../../kernel/forbidden-addresses.ts'
import { asError } from '../../kernel/errors.ts'

export interface Mail {
  /** part of the Message-ID, the same for a repeated mail */
  id: string
  /** mailboxes; each sees the others */
  to: readonly string[]
  subject: string
  text: string
  html: string
  /** the header `X-Svc-Event`, for filters */
  event: string
}

export interface Sent {
  /** recipients the server refused while it accepted others */
  refused: string[]
}

export interface Mailer {
  /** @returns the required setting that is missing; null when none is */
  lacks(): 'email.smtp_host' | 'email.from_address' | null
  /**
   * Hands the mail to the server within ten seconds.
   * @throws MailError for every failure
   */
  send(mail: Mail): Promise<Sent>
}

/** Why a mail was not sent. It contains no password, and nothing from the server except its SMTP reply. */
export class MailError extends Error {
  /** the message for clients; for a private address it is the same for open and closed ports */
  readonly shown: string
  readonly reason:
    'not_configured' | 'bad_address' | 'forbidden_target' | 'unreachable' | 'timeout' | 'tls' | 'login' | 'refused'
  constructor(reason: MailError['reason'], message: string, options?: ErrorOptions & { ofPrivateHost?: boolean }) {
    super(message, options)
    this.reason = reason
    this.shown = options?.ofPrivateHost ? 'the server could not be used as a mail server; the log says why' : message
  }
}

/** Limit for one mail, from the name lookup to the last SMTP reply. */
export const MAIL_LIMIT_MS = 10_000

/** @param list the setting `email.to_addresses`, separated by commas or semicolons */
export function recipientsOf(list: string): string[] {
  return [
    ...new Set(
      list
        .split(/[,;]/)
        .map((address) => address.trim())
        .filter(Boolean),
    ),
  ]
}

/**
 * Port 465 uses TLS from the start (RFC 8314). Every other port upgrades with STARTTLS (RFC 3207), which `use_tls`
 * requires. Without `use_tls`, TLS is used if offered, with any certificate, because the alternative is no encryption.
 *
 * The address of the server is restricted like that of the webhook (docs/api-decisions.md, section 19). For a server on a
 * private address only its SMTP replies are shown, so that the setting cannot be used to scan ports.
 * @param deps.allowPrivate loopback and private addresses may be reached; link-local and metadata addresses never may
 * @param deps.allowedHosts private names and addresses that may be reached
 * @param deps.tls further certificate authorities, for tests
 */
export function createMailer(deps: {
  settings(): Settings
  clock: Clock
  allowPrivate: boolean
  allowedHosts: readonly string[]
  tls?: ConnectionOptions
  limitMs?: number
}): Mailer {
  const lacks = () => {
    const { smtp_host: host, from_address: from } = deps.settings().email
    return host === '' ? 'email.smtp_host' : from === '' ? 'email.from_address' : null
  }
  return {
    lacks,
    async send(mail) {
      const missing = lacks()
      if (missing) throw new MailError('not_configured', `${missing} is not set`)
      const {
        smtp_host,
        smtp_port: port,
        smtp_user: user,
        smtp_password: pass,
        use_tls: required,
        from_address,
      } = deps.settings().email
      const host = smtp_host.replace(/^\[|\]$/g, '')
      const from = senderOf(from_address)
      if (mail.to.length === 0) throw new MailError('not_configured', 'no recipient is configured')
      for (const address of mail.to)
        if (!isMailbox(address)) throw new MailError('bad_address', 'a recipient is no e-mail address')
      const mayBePrivate = deps.allowPrivate || deps.allowedHosts.includes(host.toLowerCase())
      let isPrivate = false
      const signal = AbortSignal.timeout(deps.limitMs ?? MAIL_LIMIT_MS)
      const secure = port === 465
      const transport = nodemailer.createTransport({
        host,
        port,
        secure,
        requireTLS: !secure && required,
        tls: { ...(secure || required ? {} : { rejectUnauthorized: false }), ...deps.tls },
        ...(user === '' ? {} : { auth: { user, pass } }),
        socketCloseTimeout: 1000,
        getSocket: (_options, done) =>
          void resolved(host, mayBePrivate)
            .then((addresses) => {
              isPrivate = addresses.some(({ address }) => isForbidden(address, false))
              return connected(host, port, addresses, signal)
            })
            .then(
              (connection) => done(null, { connection }),
              (error: unknown) => done(asError(error)),
            ),
      })
      try {
        const { rejected } = await transport.sendMail({
          from,
          to: [...mail.to],
          envelope: { from: from.address, to: [...mail.to] },
          subject: mail.subject,
          text: mail.text,
          html: mail.html,
          date: deps.clock.now(),
          messageId: `<${mail.id}@${from.address.split('@')[1]}>`,
          // RFC 3834: prevents automatic replies.
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Svc-Event': mail.event },
          disableFileAccess: true,
          disableUrlAccess: true,
          signal,
        })
        return { refused: rejected.map(String) }
      } catch (error) {
        throw mailError(error, host, port, isPrivate)
      } finally {
        transport.close()
      }
    },
  }
}

/** Parses the setting: `Name <mailbox>` or a mailbox. */
function senderOf(text: string): { name: string; address: string } {
  const named = /^([^<>]*)<([^<>]+)>$/.exec(text.trim())
  const [name, address] = named ? [(named[1] as string).trim(), (named[2] as string).trim()] : ['', text.trim()]

  if (!isMailbox(address) || /[\u0000-\u001f\u007f]/.test(name))
    throw new MailError('bad_address', 'email.from_address is no e-mail address')
  return { name, address }
}

/** Resolves a name once, so that the connection goes to the address that was checked. @throws MailError `forbidden_target` */
async function resolved(host: string, mayBePrivate: boolean): Promise<LookupAddress[]> {
  const addresses = await lookup(host, { all: true })
  if (addresses.some(({ address }) => isForbidden(address, mayBePrivate)))
    throw new MailError('forbidden_target', `${host} must not be reached from here: it is no public address`)
  return addresses
}

async function connected(host: string, port: number, addresses: LookupAddress[], signal: AbortSignal): Promise<Socket> {
  const known: LookupFunction = (_host, asked, done) =>
    asked.all ? done(null, addresses) : done(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 4)
  const socket = connect({ host, port, lookup: known, autoSelectFamily: true })
  try {
    await once(socket, 'connect', { signal })
    return socket
  } catch (error) {
    socket.on('error', () => {}).destroy()
    throw error
  }
}

const UNREACHABLE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'EDNS',
])

/** @param isPrivate makes `shown` the same for open and closed ports */
function mailError(error: unknown, host: string, port: number, isPrivate: boolean): MailError {
  if (error instanceof MailError) return error
  const {
    code = '',
    name,
    message,
    responseCode,
    response,
  } = error as NodeJS.ErrnoException & { responseCode?: number; response?: string }
  const server = `${host}:${port}`
  const options = { cause: error, ofPrivateHost: isPrivate && !responseCode }
  if (code === 'EABORT' || code === 'ABORT_ERR' || code === 'ETIMEDOUT' || name === 'AbortError')
    return new MailError('timeout', `${server} took too long`, options)
  if (UNREACHABLE.has(code)) return new MailError('unreachable', `${server} cannot be reached: ${code}`, options)
  const reply = responseCode && response ? `: ${line(response)}` : ''
  if (code === 'EAUTH' || code === 'ENOAUTH')
    return new MailError('login', `${server} does not let the user in${reply}`, options)
  if (code === 'ETLS' || /certificate|SSL|TLS/.test(`${code} ${message}`))
    return new MailError(
      'tls',
      `no safe connection to ${server}: ${responseCode ? 'it offers no STARTTLS' : line(message)}`,
      options,
    )
  if (reply !== '' && (responseCode as number) >= 400)
    return new MailError('refused', `${server} refused it${reply}`, options)
  return new MailError('unreachable', `${server} did not speak as a mail server does, or broke off`, options)
}

const line = (text: string) =>
  text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200)
