// TLS mistakes, each as one sentence with the remedy.
import { connect } from 'node:tls'

/** What Node and undici throw, as far as it is read here. */
export interface Thrown {
  code?: string
  message?: string
  /** of a certificate for other names */
  cert?: { subjectaltname?: string; subject?: { CN?: string } }
}

const TRUST = 'with --ca-file FILE, or NODE_EXTRA_CA_CERTS=FILE'

/** By Node's codes (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const CERTIFICATES: [RegExp, (host: string, thrown: Thrown, now: Date) => string][] = [
  [
    /^DEPTH_ZERO_SELF_SIGNED_CERT$/,
    (host) => `the certificate of ${host} is self-signed: if it is yours, give it ${TRUST}`,
  ],
  [
    /^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/,
    (host) =>
      `the certificate of ${host} is signed by an authority that this machine does not know: give the certificate of the authority ${TRUST}; if browsers accept it, the service leaves out its intermediate certificates`,
  ],
  [
    /^CERT_HAS_EXPIRED$/,
    (host, _, now) =>
      `the certificate of ${host} has expired: the service needs a new one, unless the clock of this machine is wrong (${now.toISOString()})`,
  ],
  [
    /^CERT_NOT_YET_VALID$/,
    (host, _, now) =>
      `the certificate of ${host} is not valid yet: look at the clock of this machine (${now.toISOString()})`,
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    (host, { cert }) =>
      `the certificate is not for ${host}, but for ${namesOf(cert) || 'no name'}: write an address with such a name`,
  ],
  [/CERT|CRL|INVALID_CA/, (host, { code, message }) => `the certificate of ${host} is refused: ${message} (${code})`],
]

/** OpenSSL's codes for an answer that is no TLS. */
const NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/

/** @returns null when it is no such mistake */
export function tlsMistake(thrown: Thrown, url: URL, now: Date): string | null {
  const { code = '' } = thrown
  if (url.protocol !== 'https:') return null
  if (NO_TLS.test(code))
    return `${url.host} speaks plain HTTP at this port: write http://${url.host}, or the port of HTTPS`
  const [, text] = CERTIFICATES.find(([pattern]) => pattern.test(code)) ?? []
  return text ? text(url.host, thrown, now) : null
}

function namesOf(cert: Thrown['cert']): string {
  const names = cert?.subjectaltname ?? cert?.subject?.CN ?? ''
  return names.replace(/(^|, )(DNS|IP Address):/g, '$1')
}

export const needsHttps = (url: URL) => `${url.host} speaks HTTPS at this port: write https://${url.host}`

const PROBE_MS = 2000

/** Whether a port that did not understand HTTP understands TLS. */
export function speaksTls({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    // Nothing is sent over it, so its certificate does not matter.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false, timeout: PROBE_MS })
    const end = (speaks: boolean) => {
      socket.destroy()
      resolve(speaks)
    }
    socket.once('secureConnect', () => end(true))
    for (const event of ['error', 'close', 'timeout']) socket.once(event, () => end(false))
  })
}
