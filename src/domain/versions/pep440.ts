// The order of Python versions, and the one way to write each. Pure.
import { compare, valid } from '@renovatebot/pep440'
import { compareMaven } from './maven.ts'

const LONGEST = 256

/** PEP 440; versions that predate it fall back to Maven's order. */
export function comparePep440(a: string, b: string): number {
  const isKnown = (version: string) => version.length <= LONGEST && valid(version) !== null
  return isKnown(a) && isKnown(b) ? compare(a, b) : compareMaven(a, b)
}

/** PEP 440, appendix B. */
const VERSION =
  /^v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?(?:[-_.]?(dev)[-_.]?(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$/i

const PRE: Readonly<Record<string, string>> = {
  ...{ a: 'a', alpha: 'a', b: 'b', beta: 'b' },
  ...{ c: 'rc', rc: 'rc', pre: 'rc', preview: 'rc' },
}

/**
 * A version as Python's own tools write it: `1.0.0` and `1.0` stay different texts of one version. The library's `clean` loses
 * digits of large numbers, and joins the parts of a local version with commas.
 * @returns null for a text that is no version, and for numbers of more than 15 digits, which are not compared exactly
 */
export function normalPep440(text: string): string | null {
  const found = text.length <= LONGEST ? VERSION.exec(text) : null
  if (!found || /\d{16}/.test(text)) return null
  const [, epoch, release, pre, preNumber, dashed, post, postNumber, dev, devNumber, local] = found
  const number = (digits = '') => String(Number(digits))
  return [
    epoch && Number(epoch) > 0 ? `${number(epoch)}!` : '',
    release!.split('.').map(number).join('.'),
    pre ? `${PRE[pre.toLowerCase()]}${number(preNumber)}` : '',
    dashed ? `.post${number(dashed)}` : post ? `.post${number(postNumber)}` : '',
    dev ? `.dev${number(devNumber)}` : '',
    local ? `+${local.toLowerCase().split(/[-_.]/).map(localPart).join('.')}` : '',
  ].join('')
}

const localPart = (part: string) => (/^\d+$/.test(part) ? String(Number(part)) : part)
