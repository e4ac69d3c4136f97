// Rpm versions, `[epoch:]version[-release]`: grammar, order, and when an offer meets a bound. Pure.
import type { VersionScheme } from '../ecosystem.ts'
import { holds } from '../dependencies.ts'

export interface Evr {
  /** decimal digits; empty if none is given, which counts as 0 */
  epoch: string
  version: string
  release: string
}

// Epochs are stored in 32 bits.
const LARGEST_EPOCH = 2 ** 32 - 1
const PART = /^[A-Za-z0-9._+~^]+$/

/** https://rpm.org/docs/4.20.x/manual/spec.html#version */
export const versions: VersionScheme = {
  isValid(text) {
    const { epoch, version, release } = parseEvr(text)
    if (text.startsWith(':') || text.endsWith('-') || Number(epoch) > LARGEST_EPOCH) return false
    return isPart(version) && (release === '' || isPart(release))
  },

  compare(a, b) {
    const left = parseEvr(a)
    const right = parseEvr(b)
    return (
      compareEpochs(left, right) ||
      compareParts(left.version, right.version) ||
      compareParts(left.release, right.release)
    )
  },

  /** An offer without a version counts as any version; a release counts only if both sides give one. */
  meets(offered, op, wanted) {
    if (offered === null) return true
    const left = parseEvr(offered)
    const right = parseEvr(wanted)
    const order = compareEpochs(left, right) || compareParts(left.version, right.version)
    if (order !== 0 || left.release === '' || right.release === '') return holds(order, op)
    return holds(compareParts(left.release, right.release), op)
  },
}

/** Whether rpmbuild accepts the text as a version or a release. */
export function isPart(text: string): boolean {
  return PART.test(text)
}

/** Digits before a colon are the epoch; what follows the last dash is the release. */
export function parseEvr(text: string): Evr {
  const epoch = /^([0-9]*):/.exec(text)
  const rest = epoch ? text.slice(epoch[0].length) : text
  const dash = rest.lastIndexOf('-')
  return {
    epoch: epoch?.[1] ?? '',
    version: dash === -1 ? rest : rest.slice(0, dash),
    release: dash === -1 ? '' : rest.slice(dash + 1),
  }
}

function compareEpochs(a: Evr, b: Evr): number {
  return Number(a.epoch) - Number(b.epoch)
}

/**
 * Compares runs of digits and of letters in turn; separators only divide them. `~` sorts before the end, the end before `^`,
 * then letters, then numbers (https://rpm.org/docs/4.20.x/man/rpm-version.7).
 */
export function compareParts(a: string, b: string): number {
  const left = tokens(a)
  const right = tokens(b)
  for (let index = 0; ; index++) {
    const one = left[index]
    const two = right[index]
    const difference = rank(one) - rank(two)
    if (difference !== 0) return difference
    if (one === undefined || two === undefined) return 0
    const order = isNumeric(one) ? compareNumbers(one, two) : compareBytes(one, two)
    if (order !== 0) return order
  }
}

function tokens(text: string): string[] {
  return text.match(/[0-9]+|[A-Za-z]+|[~^]/g) ?? []
}

function rank(token: string | undefined): number {
  if (token === undefined) return 1
  if (token === '~') return 0
  if (token === '^') return 2
  return isNumeric(token) ? 4 : 3
}

function isNumeric(token: string): boolean {
  const code = token.charCodeAt(0)
  return code >= 0x30 && code <= 0x39
}

/** Numbers of any length. */
function compareNumbers(a: string, b: string): number {
  const one = a.replace(/^0+/, '')
  const two = b.replace(/^0+/, '')
  return one.length - two.length || compareBytes(one, two)
}

function compareBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
