// A small mail server on loopback with a self-signed certificate for `localhost`.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { selfSigned } from './certificate.ts'

export interface Received {
  /** as received */
  raw: string
  from: string
  to: string[]
  /** whether it was received over TLS */
  secure: boolean
  user: unknown
}

export interface MailSink {
  readonly port: number
  /** its certificate, in PEM */
  readonly cert: string
  readonly received: Received[]
  /** connections made so far */
  readonly connections: number
  close(): Promise<void>
}

export const MAIL_USER = { user: 'gate', pass: 'a-password-of-the-sink' }

/** @param options of smtp-server; by default it needs no login, knows only `MAIL_USER`, and makes a new certificate */
export async function startMailSink(options: SMTPServerOptions = {}, port = 0): Promise<MailSink> {
  const received: Received[] = []
  const { key, cert } = options.key ? (options as { key: string; cert: string }) : selfSigned('localhost')
  let connections = 0
  const server = new SMTPServer({
    key,
    cert,
    authOptional: true,
    onConnect(_session, done) {
      connections++
      done()
    },
    onAuth({ username, password }, _session, done) {
      if (username === MAIL_USER.user && password === MAIL_USER.pass) {
        done(null, { user: username })
        return
      }
      done(new Error('wrong name or password'))
    },
    onData(stream, session, done) {
      let raw = ''
      stream
        .on('data', (part) => (raw += String(part)))
        .on('end', () => {
          const { mailFrom, rcptTo } = session.envelope
          received.push({
            raw,
            from: mailFrom ? mailFrom.address : '',
            to: rcptTo.map(({ address }) => address),
            secure: session.secure,
            user: session.user,
          })
          done()
        })
    },
    ...options,
  })
  // Some tests have clients that refuse the certificate.
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    cert,
    received,
    get connections() {
      return connections
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** One header, unfolded, with encoded words (RFC 2047) decoded; null when it is absent. */
export function headerOf(raw: string, name: string): string | null {
  const head = (raw.split('\r\n\r\n')[0] as string).replace(/\r\n[ \t]+/g, ' ')
  const found = new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]
  if (found === undefined) return null
  return found
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(text, 'base64').toString('utf8')
        : decodeQuoted(text.replaceAll('_', ' ')),
    )
}

/** The decoded text of one part. */
export function partOf(raw: string, type: 'text/plain' | 'text/html'): string {
  const at = raw.indexOf(`Content-Type: ${type}`)
  const begin = raw.indexOf('\r\n\r\n', at) + 4
  const head = raw.slice(at, begin)
  const boundary = /boundary="([^"]+)"/.exec(raw)?.[1] ?? '\0'
  const end = raw.indexOf(`\r\n--${boundary}`, begin)
  const body = raw.slice(begin, end === -1 ? undefined : end)
  if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8')
  return /quoted-printable/i.test(head) ? decodeQuoted(body.replace(/=\r\n/g, '')) : body
}

function decodeQuoted(text: string): string {
  return Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')
}
