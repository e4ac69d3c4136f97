// Sends a mail by the SMTP settings of that moment. Knows no event, no template and no queue.
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, type LookupFunction, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import nodemailer from 'nodemailer'
import { isMailbox } from '../domain/setting-kinds.ts'
import type { Settings } from '../domain/settings.ts'
import type { Clock } from '../kernel/clock.ts'
import { isForbidden } from '../kernel/http-client.ts'

export interface Mail {
  /** makes the Message-ID: the same id is the same mail, however often it is sent */
  id: string
  /** mailboxes; each sees the others */
  to: readonly string[]
  subject: string
  text: string
  html: string
  /** told to filters as the header `X-Svc-Event` */
  event: string
}

export interface Sent {
  /** recipients the server did not take, while it took others */
  refused: string[]
}

export interface Mailer {
  /** @returns the setting without which nothing can be sent; null when none is missing */
  lacks(): 'email.smtp_host' | 'email.from_address' | null
  /**
   * Hands the mail to the server, within ten seconds.
   * @throws MailError whatever goes wrong, in words that may be shown
   */
  send(mail: Mail): Promise<Sent>
}

/** Why a mail was not sent. Holds no password, and of what a server said no more than its SMTP reply. */
export class MailError extends Error {
  constructor(
    readonly reason:
      'not_configured' | 'bad_address' | 'forbidden_target' | 'unreachable' | 'timeout' | 'tls' | 'login' | 'refused',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** For the whole of one mail, from the name lookup to the server's last word. */
export const MAIL_LIMIT_MS = 10_000

/** @param list the setting `email.to_addresses`: split at comma or semicolon */
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
 * Port 465 speaks TLS from the start (RFC 8314); every other port upgrades by STARTTLS (RFC 3207), which `use_tls` insists on.
 * Without `use_tls` TLS is taken where it is offered, by whatever certificate: the alternative is none at all.
 *
 * The server may stand in the own network, as relays do: an administrator names it, it gets no request of anybody's making, and
 * what it answers is not shown but for SMTP replies. Link-local and metadata addresses are refused all the same. The guard of
 * decisions, section 19 (redirects, https) is the webhook's.
 * @param tls further authorities, for tests
 */
export function createMailer(parts: {
  settings(): Settings
  clock: Clock
  tls?: ConnectionOptions
  limitMs?: number
}): Mailer {
  const lacks = () => {
    const { smtp_host: host, from_address: from } = parts.settings().email
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
      } = parts.settings().email
      const host = smtp_host.replace(/^\[|\]$/g, '')
      const from = senderOf(from_address)
      if (mail.to.length === 0) throw new MailError('not_configured', 'nobody is named to receive it')
      for (const address of mail.to)
        if (!isMailbox(address)) throw new MailError('bad_address', 'a recipient is no e-mail address')
      const signal = AbortSignal.timeout(parts.limitMs ?? MAIL_LIMIT_MS)
      const secure = port === 465
      const transport = nodemailer.createTransport({
        host,
        port,
        secure,
        requireTLS: !secure && required,
        tls: { ...(secure || required ? {} : { rejectUnauthorized: false }), ...parts.tls },
        ...(user === '' ? {} : { auth: { user, pass } }),
        socketCloseTimeout: 1000,
        getSocket: (_options, done) =>
          void open(host, port, signal).then(
            (connection) => done(null, { connection }),
            (error: Error) => done(error),
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
          date: parts.clock.now(),
          messageId: `<${mail.id}@${from.address.split('@')[1]}>`,
          // RFC 3834: no holiday notice answers it.
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Svc-Event': mail.event },
          disableFileAccess: true,
          disableUrlAccess: true,
          signal,
        })
        return { refused: (rejected ?? []).map(String) }
      } catch (error) {
        throw told(error, host, port)
      } finally {
        transport.close()
      }
    },
  }
}

/** `Name <mailbox>` or a mailbox, as the setting allows. */
function senderOf(text: string): { name: string; address: string } {
  const named = /^([^<>]*)<([^<>]+)>$/.exec(text.trim())
  const [name, address] = named ? [(named[1] as string).trim(), (named[2] as string).trim()] : ['', text.trim()]

  if (!isMailbox(address) || /[\u0000-\u001f\u007f]/.test(name))
    throw new MailError('bad_address', 'email.from_address is no e-mail address')
  return { name, address }
}

/** Names are resolved once, by the machine's own rules, and the connection goes where was looked. */
async function open(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const addresses = await lookup(host, { all: true })
  if (addresses.some(({ address }) => isForbidden(address, true)))
    throw new MailError('forbidden_target', `${host} must not be reached from here`)
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

function told(error: unknown, host: string, port: number): MailError {
  if (error instanceof MailError) return error
  const {
    code = '',
    name,
    message,
    responseCode,
    response,
  } = error as NodeJS.ErrnoException & { responseCode?: number; response?: string }
  const server = `${host}:${port}`
  const options = { cause: error }
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
