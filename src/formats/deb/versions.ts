// Debian version numbers: grammar and order (Debian Policy 5.6.12). Pure.
import type { VersionScheme } from '../ecosystem.ts'

// dpkg refuses larger epochs, because it stores them in an int.
const LARGEST_EPOCH = 2 ** 31 - 1

/** https://www.debian.org/doc/debian-policy/ch-controlfields.html#version */
export const versions: VersionScheme = {
  isValid(version) {
    const parts = /^(?:([0-9]+):)?([A-Za-z0-9.+~:-]+)$/.exec(version)
    if (!parts) return false
    const [, epoch, rest = ''] = parts
    if (epoch !== undefined && Number(epoch) > LARGEST_EPOCH) return false
    if (epoch === undefined && rest.includes(':')) return false
    const dash = rest.lastIndexOf('-')
    const upstream = dash === -1 ? rest : rest.slice(0, dash)
    const revision = dash === -1 ? null : rest.slice(dash + 1)
    // "should start with a digit": otherwise dpkg only warns, and such packages exist.
    return upstream !== '' && (revision === null || /^[A-Za-z0-9.+~]+$/.test(revision))
  },

  compare(a, b) {
    const left = split(a)
    const right = split(b)
    return (
      compareText(left.epoch, right.epoch) ||
      compareText(left.upstream, right.upstream) ||
      compareText(left.revision, right.revision)
    )
  },
}

/** The version in file names: without the epoch. */
export function withoutEpoch(version: string): string {
  return version.slice(version.indexOf(':') + 1)
}

function split(version: string): { epoch: string; upstream: string; revision: string } {
  const colon = version.indexOf(':')
  const rest = version.slice(colon + 1)
  const dash = rest.lastIndexOf('-')
  return {
    epoch: colon === -1 ? '' : version.slice(0, colon),
    upstream: dash === -1 ? rest : rest.slice(0, dash),
    revision: dash === -1 ? '' : rest.slice(dash + 1),
  }
}

const ZERO = 0x30
const NINE = 0x39
const TILDE = 0x7e
const isDigit = (code: number): boolean => code >= ZERO && code <= NINE

/**
 * Compares runs of non-digits and of digits in turn. Digits compare as numbers of any length. Among the
 * other characters, `~` sorts before the end, the end (and a digit) before letters, letters before the rest.
 */
function compareText(a: string, b: string): number {
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    while ((i < a.length && !isDigit(a.charCodeAt(i))) || (j < b.length && !isDigit(b.charCodeAt(j)))) {
      const difference = weight(a, i) - weight(b, j)
      if (difference !== 0) return difference
      i++
      j++
    }
    while (a.charCodeAt(i) === ZERO) i++
    while (b.charCodeAt(j) === ZERO) j++
    let first = 0
    while (isDigit(a.charCodeAt(i)) && isDigit(b.charCodeAt(j))) {
      first ||= a.charCodeAt(i) - b.charCodeAt(j)
      i++
      j++
    }
    // The number with more digits is larger.
    if (isDigit(a.charCodeAt(i))) return 1
    if (isDigit(b.charCodeAt(j))) return -1
    if (first !== 0) return first
  }
  return 0
}

function weight(text: string, at: number): number {
  if (at >= text.length) return 0
  const code = text.charCodeAt(at)
  if (isDigit(code)) return 0
  if (code === TILDE) return -1
  const letter = (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a)
  return letter ? code : code + 256
}
