// The address under which a client reached a listener, for texts that tell the client this address. Pure.
import { isIP, type Socket } from 'node:net'
import type { IncomingHttpHeaders } from 'node:http'
import { socketAddress } from '../kernel/client-address.ts'

/** The known facts about the connection of a request. */
export interface Peer {
  /** address of the client or the proxy */
  remoteAddress: string
  localAddress: string
  localPort: number
}

/** The two ends of a request's connection. */
export function peerOf({ remoteAddress, localAddress, localPort }: Socket): Peer {
  return {
    remoteAddress: socketAddress(remoteAddress),
    localAddress: socketAddress(localAddress),
    localPort: localPort ?? 0,
  }
}

const NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i

/**
 * Reads `host[:port]` of RFC 9110 section 7.2, a name or an address. The client chooses the header, so anything
 * else is null: an accepted text has only letters, digits and `.-_:[]`, and is safe in shell, ini, deb822 and HTML.
 */
export function parseHost(text: string | undefined): { host: string; port: number | null } | null {
  const [, bracketed, name, portText] = /^(?:\[([0-9a-f:.]+)\]|([^[\]:]+))(?::(\d{1,5}))?$/i.exec(text ?? '') ?? []
  const port = portText === undefined ? null : Number(portText)
  if (port !== null && (port < 1 || port > 65_535)) return null
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? { host: `[${bracketed.toLowerCase()}]`, port } : null
  return name !== undefined && NAME.test(name) ? { host: name.toLowerCase(), port } : null
}

/**
 * @param configured the public address, if one is set: it is then always the result
 * @param trusts whether the forwarding headers of this address are trusted
 * @returns an address without a slash at the end, `http://packages.example.org:8080`
 */
export function addressOf(
  headers: IncomingHttpHeaders,
  peer: Peer,
  configured: string | null,
  trusts: (address: string) => boolean,
): string {
  if (configured !== null) return configured
  const forwarded = trusts(peer.remoteAddress)
  const scheme = forwarded && lastOf(headers['x-forwarded-proto']) === 'https' ? 'https' : 'http'
  const named =
    (forwarded ? parseHost(lastOf(headers['x-forwarded-host'])) : null) ?? parseHost(headers.host) ?? ownAddress(peer)
  const isDefault = named.port === null || named.port === (scheme === 'https' ? 443 : 80)
  return `${scheme}://${named.host}${isDefault ? '' : `:${named.port}`}`
}

/** The value that the nearest proxy added; earlier values may come from the client. */
function lastOf(field: string | string[] | undefined): string | undefined {
  return (Array.isArray(field) ? field.join(',') : field)?.split(',').at(-1)?.trim()
}

function ownAddress({ localAddress, localPort }: Peer): { host: string; port: number } {
  return { host: isIP(localAddress) === 6 ? `[${localAddress}]` : localAddress, port: localPort }
}
