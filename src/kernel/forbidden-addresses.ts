// The addresses that outbound requests must not reach: addresses of the inner network, and metadata services of clouds.
import { BlockList, isIP } from 'node:net'

const ranges = (list: [string, number, 'ipv4' | 'ipv6'][]) => {
  const blocked = new BlockList()
  for (const [address, prefix, family] of list) blocked.addSubnet(address, prefix, family)
  return blocked
}

/** RFC 6890: this host, private use, shared address space, link-local, multicast, reserved. */
const PRIVATE = ranges([
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  // Relays of 6to4, which are no longer used (RFC 7526).
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
  ['::', 96, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
])
/** Metadata services of clouds, which hand out credentials: always refused, whatever else is allowed. */
const LINK_LOCAL = ranges([
  ['169.254.0.0', 16, 'ipv4'],
  ['fe80::', 10, 'ipv6'],
  ['fd00:ec2::', 32, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
  ['fd00:42::42', 128, 'ipv6'],
  // NAT64 (RFC 6052, RFC 8215), IPv4-translated addresses (RFC 2765), 6to4 and Teredo lead to any IPv4 address.
  ['64:ff9b::', 96, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['::ffff:0:0:0', 96, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['2001::', 32, 'ipv6'],
  ['100.100.100.200', 32, 'ipv4'],
  ['168.63.129.16', 32, 'ipv4'],
  ['192.0.0.192', 32, 'ipv4'],
  // The same in the "IPv4-compatible" form of RFC 4291. Loopback (`::1`) has this form too, so the range is not complete.
  ['::169.254.0.0', 112, 'ipv6'],
  ['::100.100.100.200', 128, 'ipv6'],
  ['::168.63.129.16', 128, 'ipv6'],
  ['::192.0.0.192', 128, 'ipv6'],
])

/** Whether no request may go to this address. IPv4 addresses written as IPv6 (`::ffff:a.b.c.d`) count as IPv4. */
export function isForbidden(address: string, allowPrivate: boolean): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (LINK_LOCAL.check(address, family)) return true
  return !allowPrivate && PRIVATE.check(address, family)
}

/** Names of metadata services. Behind a proxy this process never sees the address of a name. */
const METADATA_NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.tencentyun.com',
])

/**
 * Judges a host name or literal address by itself, without DNS.
 * @param host as in a URL: an IPv6 address may be in brackets
 */
export function isForbiddenHost(host: string, allowPrivate: boolean): boolean {
  const plain = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase()
  if (isIP(plain)) return isForbidden(plain, allowPrivate)
  return METADATA_NAMES.has(plain) || (!allowPrivate && /(^|\.)localhost$/.test(plain))
}
