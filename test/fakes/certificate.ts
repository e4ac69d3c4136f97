// Makes a self-signed certificate (RFC 5280, DER written by hand), so that the repository contains no private key.
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const length =
    body.length < 0x80
      ? [body.length]
      : body.length < 0x100
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const bits = (bytes: Uint8Array) => der(0x03, Buffer.from([0]), bytes)
const time = (date: Date) =>
  der(0x17, Buffer.from(date.toISOString().replace(/^..(..)-(..)-(..)T(..):(..):(..).*$/, '$1$2$3$4$5$6Z')))
const extension = (id: string, value: Buffer) => sequence(oid(id), der(0x04, value))

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'))
const COMMON_NAME = '550403'
const ALTERNATIVE_NAME = '551d11'
const BASIC_CONSTRAINTS = '551d13'
const HOUR_MS = 3_600_000

/** Who signs a certificate. */
export interface Authority {
  privateKey: KeyObject
  /** its distinguished name, DER */
  name: Buffer
}

export interface Certificate {
  key: string
  cert: string
  /** to sign others with it */
  authority: Authority
}

/**
 * Valid for an hour, signed by itself unless somebody else does, and usable as an authority.
 * @param host a DNS name
 */
export function selfSigned(host: string, { by, until }: { by?: Authority; until?: Date } = {}): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(host)))))
  const authority = { privateKey, name }
  const issuer = by ?? authority
  const now = Date.now()
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    issuer.name,
    sequence(time(new Date(now - 2 * HOUR_MS)), time(until ?? new Date(now + HOUR_MS))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(BASIC_CONSTRAINTS, sequence(der(0x01, Buffer.from([0xff])))),
        extension(ALTERNATIVE_NAME, sequence(der(0x82, Buffer.from(host)))),
      ),
    ),
  )
  const certificate = sequence(body, ECDSA_SHA256, bits(sign('sha256', body, issuer.privateKey)))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
    authority,
  }
}
