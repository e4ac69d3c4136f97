// What `doctor` finds out about the machine and the way to the service.
import { connect } from 'node:tls'

type Env = Readonly<Record<string, string | undefined>>

/** More would make sessions and signed answers look expired, or not valid yet. */
const FAR_MS = 60_000

/** @param date the header of an answer, in whole seconds; times in ms since 1970 */
export function clockText(date: string | null, began: number, ended: number): { text: string; isFar: boolean } {
  const there = Date.parse(date ?? '')
  if (Number.isNaN(there)) return { text: 'the service states no time', isFar: false }
  // The header has whole seconds, and was written at some time between the two.
  const aheadMs = began - (there + 999)
  const behindMs = there - ended
  const seconds = Math.round(Math.max(aheadMs, behindMs, 0) / 1000)
  const text = seconds === 0 ? 'as at the service' : `${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the service`
  return { text, isFar: seconds * 1000 > FAR_MS }
}

/** The proxy for an address, without its password; null when there is none. */
export function proxyFor(url: URL, env: Env): string | null {
  const forHttp = ['http_proxy', 'HTTP_PROXY']
  // As network.ts uses them: HTTPS goes through the proxy for HTTP when it has none of its own.
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY', ...forHttp] : forHttp
  const name = names.find((one) => env[one])
  if (name === undefined) return null
  const text = env[name] ?? ''
  const shown = URL.canParse(text) ? `${new URL(text).protocol}//${new URL(text).host}` : `no address (${text})`
  const exceptions = env['no_proxy'] || env['NO_PROXY']
  return `${name} is ${shown}${exceptions ? `, and not used for ${exceptions}` : ''}`
}

export interface Certificate {
  issuer: string
  until: Date
}

const CONNECT_MS = 5000

/** The certificate that a service shows. Its trust is not looked at: the connection before did. */
export function certificateOf({ hostname, port }: URL): Promise<Certificate | null> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const servername = /^[\d.]+$|:/.test(host) ? '' : host
    const socket = connect({
      host,
      port: Number(port || 443),
      servername,
      rejectUnauthorized: false,
      timeout: CONNECT_MS,
    })
    const end = (found: Certificate | null) => {
      socket.destroy()
      resolve(found)
    }
    socket.once('secureConnect', () => {
      const { issuer, valid_to: until } = socket.getPeerCertificate()
      end({ issuer: [issuer.O, issuer.CN].flat().filter(Boolean).join(', '), until: new Date(until) })
    })
    for (const event of ['error', 'close', 'timeout']) socket.once(event, () => end(null))
  })
}
