// The address of a client: its canonical spelling, its key for limits, and the trusted proxies.
import { BlockList, isIP } from 'node:net'

/** Names the client of a request from its peer and its `X-Forwarded-For` header. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | string[] | undefined) => string

/** The name of a peer without an address (a Unix socket, a closed connection). */
const UNKNOWN = 'unknown'

/**
 * The address in its canonical spelling; null when the text is no IP address. An IPv4 address written as IPv6
 * (`::ffff:1.2.3.4`) becomes the IPv4 address, a zone (`%eth0`) is dropped.
 */
export function canonicalAddress(text: string): string | null {
  const address = text.trim().replace(/%[^%\]]*$/, '')
  if (isIP(address) === 4) return address
  // A dual-stack socket names each IPv4 peer this way: handled without the URL parser, for every request of a listener.
  const [, plain = ''] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (isIP(plain) === 4) return plain
  if (isIP(address) !== 6) return null
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical)
  if (!mapped) return canonical
  const [high, low] = [parseInt(mapped[1] as string, 16), parseInt(mapped[2] as string, 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** The canonical address of one end of a connection. */
export function socketAddress(text: string | undefined): string {
  return canonicalAddress(text ?? '') ?? UNKNOWN
}

/**
 * The key by which limits count a client. A customer of an IPv6 provider has at least a /64 (RFC 6177), so all of its
 * addresses count as one.
 * @param address as returned by `ClientAddress`
 */
export function limitKey(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const groups = (part: string | undefined) => (part ? part.split(':') : [])
  const left = groups(head)
  const right = groups(tail)
  const all =
    tail === undefined ? left : [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
  return `${all.slice(0, 4).join(':')}::/64`
}

/**
 * @param networks addresses and networks in CIDR notation
 * @returns whether a canonical address is in one of them; false for `unknown`
 */
export function createTrust(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return (address) => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/**
 * Reads `X-Forwarded-For` from its right end, past the addresses of trusted proxies, to the first untrusted address.
 * An entry that is no address tells nothing about the client: the result is then the peer itself.
 * @param trusted addresses and networks in CIDR notation
 */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const isTrusted = createTrust(trusted)
  return (peerText, forwardedFor) => {
    const peer = socketAddress(peerText)
    if (forwardedFor === undefined) return peer
    const hops = [forwardedFor].flat().join(',').split(',').reverse()
    let client = peer
    for (const hop of hops) {
      if (!isTrusted(client) || hop.trim() === '') break
      const address = canonicalAddress(withoutPort(hop.trim()))
      if (address === null) return peer
      client = address
    }
    return client
  }
}

/** Some proxies append the port: `1.2.3.4:5678`, `[2001:db8::1]:5678`. */
function withoutPort(hop: string): string {
  return /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(hop)?.[1] ?? hop
}
