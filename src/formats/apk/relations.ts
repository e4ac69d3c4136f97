// Relations in `.PKGINFO` (apk-package(5)). Pure.
import { invalid } from '../archive/limits.ts'
import type { Capability, ComparisonOperator, Relation, Requirement } from '../../domain/package.ts'
import { BOUNDS, checkCount, quote } from '../bounds.ts'
import { itemsOf, type PkginfoField } from './pkginfo.ts'
import { versions } from './versions.ts'

// apk writes a relation through a buffer of 256 bytes, and reads an index line through one of 128 KiB.
const LONGEST_RELATION = 240
const LONGEST_LINE = 100_000

/** Strong: `depend`. Weak: conflicts (`depend = !name`), `install_if` and `replaces`. */
export function parseRequirements(fields: readonly PkginfoField[]): Requirement[] {
  const count = ['depend', 'install_if', 'replaces'].reduce((sum, key) => sum + itemsOf(fields, key).length, 0)
  checkCount('relations', count, BOUNDS.apk.allRelations)
  const depends = items(fields, 'depend').map((text): Requirement => {
    const conflict = text.startsWith('!')
    const relation = parseRelation(conflict ? text.slice(1) : text, 'depend')
    return { kind: conflict ? 'conflict' : 'depend', strong: !conflict, anyOf: [relation], text }
  })
  const others = ['install_if', 'replaces'].flatMap((kind) =>
    items(fields, kind).map((text): Requirement => {
      const name = kind === 'install_if' ? text.replace(/^!/, '') : text
      return { kind, strong: false, anyOf: [parseRelation(name, kind)], text }
    }),
  )
  return [...depends, ...others]
}

/** Names with their prefixes (`so:`, `cmd:`, `pc:`), and versions if given. */
export function parseProvides(fields: readonly PkginfoField[]): Capability[] {
  return items(fields, 'provides').map((text) => {
    const { name, op, version } = parseRelation(text, 'provides')
    if (version === undefined) return { name }
    if (op !== '=' || version.startsWith('~')) throw unreadable(text, 'provides')
    return { name, version }
  })
}

function items(fields: readonly PkginfoField[], key: string): string[] {
  const found = itemsOf(fields, key)
  const bytes = found.reduce((sum, item) => sum + Buffer.byteLength(item) + 1, 0)
  checkCount(
    key === 'provides' ? key : `relations in ${key}`,
    found.length,
    BOUNDS.apk[key === 'provides' ? key : 'relations'],
  )
  if (bytes > LONGEST_LINE)
    throw invalid(`the key ${key} of .PKGINFO has ${bytes} bytes in all; at most ${LONGEST_LINE} are accepted`)
  return found
}

/** `name`, then optionally an operator and a version. apk-tools 3 accepts only printable ASCII. */
const RELATION = /^([\x21\x22-\x3b\x3f\x41-\x7d]+?)(@[^<>=~]*)?(?:([<>=~]+)(.+))?$/

/**
 * `~` requires a version that begins like the given one: it becomes a bound beginning with `~`, which `versions.meets`
 * reads.
 * @throws Problem('invalid_package') for a relation that apk-tools 2.14 or 3 cannot read. apk 2 silently drops it and the
 *   relations after it; apk 3 warns of broken packages on every command of every client.
 */
function parseRelation(text: string, key: string): Relation {
  const [, name, tag, operator, version] = RELATION.exec(text) ?? []
  if (tag !== undefined)
    throw invalid(
      `the key ${key} of .PKGINFO has the relation ${quote(text)} with a repository tag, which only a client's own configuration may use; remove ${quote(tag)}`,
    )
  if (name === undefined || name.includes('!') || Buffer.byteLength(text) > LONGEST_RELATION)
    throw unreadable(text, key)
  if (operator === undefined || version === undefined) return { name }
  // A commit hash (`1.0~abc`) needs apk-tools 3.
  if (version.includes('~') || !versions.isValid(version)) throw unreadable(text, key)
  const op = OPERATORS[canonical(operator)]
  if (op === undefined) throw unreadable(text, key)
  return { name, op, version: canonical(operator) === '~' ? `~${version}` : version }
}

/**
 * The meaning of apk's own operators. `><` compares checksums, and is for packages made on the spot. apk 2 does not know
 * `<~` and `>~` and reads them as `?`.
 */
const OPERATORS: Readonly<Record<string, ComparisonOperator>> = {
  '<': '<',
  '<=': '<=',
  '=': '=',
  '~': '=',
  '>=': '>=',
  '>': '>',
}

/** apk reads an operator as a set of characters, in any order, and `~` as including `=`. */
function canonical(operator: string): string {
  const has = (character: string) => operator.includes(character)
  return `${has('<') ? '<' : ''}${has('>') ? '>' : ''}${has('~') ? '~' : has('=') ? '=' : ''}`
}

/** A relation as `apk index` writes it: with the canonical operator. */
export function writeRelation(text: string): string {
  const [, name, , operator, version] = RELATION.exec(text) ?? []
  if (name === undefined || operator === undefined || version === undefined) return text
  return `${name}${canonical(operator)}${version}`
}

function unreadable(text: string, key: string) {
  return invalid(
    `the key ${key} of .PKGINFO has a relation that apk cannot read: ${quote(text)}; expected name, or name with one of < <= = ~ >= > and a version`,
  )
}
