// apk version numbers: grammar, order and the prefix match of `~` (apk-package(5), "PACKAGE NAMES AND VERSIONS"). Pure.
import { holds } from '../dependencies.ts'
import type { VersionScheme } from '../ecosystem.ts'

// apk-tools 2 fails at 18 digits, 3 counts in 64 bits.
const NUMBER = '[0-9]{1,17}'
const VERSION = new RegExp(
  `^${NUMBER}(?:\\.${NUMBER})*[a-z]?(?:_(?:alpha|beta|pre|rc|cvs|svn|git|hg|p)(?:${NUMBER})?)*(?:~[0-9a-f]+)?(?:-r${NUMBER})?$`,
)
const TOKEN = /\.?[0-9]+|_[a-z]+|[a-z]|~[0-9a-f]+|-r[0-9]+/g

/** Suffixes in their order. Those in `OLDER` make a version older than the version without a suffix. */
const OLDER = ['_alpha', '_beta', '_pre', '_rc']
const NEWER = ['_cvs', '_svn', '_git', '_hg', '_p']

/** Kinds of token in ascending order. If two versions first differ in the kind of a token, the kind decides. */
const KIND = { invalid: 0, older: 1, end: 2, revision: 3, hash: 4, suffixNumber: 5, newer: 6, letter: 7, number: 8 }

interface Token {
  kind: number
  /** place among the suffixes of its kind */
  order: number
  text: string
}
const END: Token = { kind: KIND.end, order: 0, text: '' }

export const versions: VersionScheme = {
  isValid: (version) => version.length <= 256 && VERSION.test(version),

  /** Invalid versions sort before valid ones, by their characters. */
  compare: (a, b) => compareTokens(tokens(a), tokens(b), false),

  /** A bound that begins with `~` requires a version that begins with the rest (see `relations.ts`). */
  meets(offered, op, wanted) {
    // As in apk-tools 2, a provide without a version satisfies no bound.
    if (offered === null) return false
    const fuzzy = wanted.startsWith('~')
    return holds(compareTokens(tokens(offered), tokens(fuzzy ? wanted.slice(1) : wanted), fuzzy), op)
  },
}

/** Whether apk-tools 2 accepts the version too: commit hashes (`1.0~abc`) came with 3. */
export const isValidInApk2 = (version: string): boolean => versions.isValid(version) && !version.includes('~')

/** The version that was probably meant, such as `1.0.0_rc1` for `v1.0.0~rc1`; null where none is found. */
export function suggestedVersion(version: string): string | null {
  const guess = version
    .replace(/^v(?=[0-9])/, '')
    .replace(/[-~._]?(alpha|beta|pre|rc)[-.]?(?=[0-9]|-|$)/, '_$1')
    .replace(/-(?=[0-9]+$)/, '-r')
  return isValidInApk2(guess) ? guess : null
}

function compareTokens(left: readonly Token[], right: readonly Token[], fuzzy: boolean): number {
  for (let at = 0; ; at++) {
    const a = left[at] ?? END
    const b = right[at] ?? END
    if (b === END && (fuzzy || a === END)) return 0
    const order = a.kind - b.kind || a.order - b.order || compareText(a, b, at)
    if (order !== 0) return order
  }
}

function compareText(a: Token, b: Token, at: number): number {
  switch (a.kind) {
    case KIND.number:
      // As in Gentoo's rules, a number that begins with 0 is a decimal fraction: 1.01 < 1.1. The first number is not.
      return at > 0 && (a.text.startsWith('0') || b.text.startsWith('0'))
        ? compareCharacters(a.text, b.text)
        : compareNumbers(a.text, b.text)
    case KIND.suffixNumber:
    case KIND.revision:
      return compareNumbers(a.text, b.text)
    default:
      return compareCharacters(a.text, b.text)
  }
}

function compareNumbers(a: string, b: string): number {
  const x = a.replace(/^0+/, '')
  const y = b.replace(/^0+/, '')
  return x.length - y.length || compareCharacters(x, y)
}

function compareCharacters(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

function tokens(version: string): Token[] {
  if (!versions.isValid(version)) return [{ kind: KIND.invalid, order: 0, text: version }]
  return (version.match(TOKEN) ?? []).map((text, index): Token => {
    if (index === 0) return { kind: KIND.number, order: 0, text }
    switch (text[0]) {
      case '.':
        return { kind: KIND.number, order: 0, text: text.slice(1) }
      case '_': {
        const older = OLDER.indexOf(text)
        if (older !== -1) return { kind: KIND.older, order: older, text }
        return { kind: KIND.newer, order: NEWER.indexOf(text), text }
      }
      case '~':
        return { kind: KIND.hash, order: 0, text: text.slice(1) }
      case '-':
        return { kind: KIND.revision, order: 0, text: text.slice(2) }
      default:
        return /[0-9]/.test(text) ? { kind: KIND.suffixNumber, order: 0, text } : { kind: KIND.letter, order: 0, text }
    }
  })
}
