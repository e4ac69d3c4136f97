// Dependencies, provides and their kin as `.PKGINFO` has them (apk-package(5)). Pure.
import { invalid } from '../../archive/limits.ts'
import type { Capability, ComparisonOperator, Relation, Requirement } from '../../domain/package.ts'
import { itemsOf, type PkginfoField } from './pkginfo.ts'
import { versions } from './versions.ts'

// Each costs an object; the largest packages in use have some hundreds.
const MOST_RELATIONS = 20_000
// apk writes one of them through a buffer of 256 bytes, and reads an index line through one of 128 KiB.
const LONGEST_RELATION = 240
const LONGEST_LINE = 100_000

/** What must be there (`depend`), and weak: what must not (`conflict`), `install_if` and `replaces`. */
export function parseRequirements(fields: readonly PkginfoField[]): Requirement[] {
  const depends = items(fields, 'depend').map((text): Requirement => {
    const conflict = text.startsWith('!')
    const relation = parseRelation(conflict ? text.slice(1) : text, 'depend')
    return { kind: conflict ? 'conflict' : 'depend', strong: !conflict, anyOf: [relation], text }
  })
  const others = ['install_if', 'replaces'].flatMap((kind) =>
    items(fields, kind).map((text): Requirement => {
      return { kind, strong: false, anyOf: [parseRelation(text.replace(/^!/, ''), kind)], text }
    }),
  )
  return [...depends, ...others]
}

/** Names with their prefixes (`so:`, `cmd:`, `pc:`), and versions where they are given. */
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
  if (found.length > MOST_RELATIONS || bytes > LONGEST_LINE) throw invalid(`the key ${key} of .PKGINFO is too long`)
  return found
}

/**
 * `name[@tag][op version]`. The tag names a repository of the client and is kept in the text only. `~` asks for a
 * version that begins like the given one: it is kept as a bound beginning with `~`, which `versions.meets` reads.
 * @throws Problem('invalid_package') for what apk 2.14 does not read: it would drop the relation, and those after it,
 *   without a word
 */
function parseRelation(text: string, key: string): Relation {
  const parts = /^([^\s<>=~!@]+)(?:@([A-Za-z0-9_.+-]+))?(?:([<>=~]+)(.+))?$/.exec(text)
  const [, name, , operator, version] = parts ?? []
  if (name === undefined || Buffer.byteLength(text) > LONGEST_RELATION) throw unreadable(text, key)
  if (operator === undefined || version === undefined) return { name }
  const less = operator.includes('<')
  const greater = operator.includes('>')
  const fuzzy = operator.includes('~')
  // A commit hash (`1.0~abc`) is of apk-tools 3; `><` compares checksums and is for packages made on the spot.
  if ((less && greater) || version.includes('~') || !versions.isValid(version)) throw unreadable(text, key)
  const equal = operator.includes('=') || fuzzy
  const op: ComparisonOperator = less ? (equal ? '<=' : '<') : greater ? (equal ? '>=' : '>') : '='
  return { name, op, version: fuzzy ? `~${version}` : version }
}

function unreadable(text: string, key: string) {
  return invalid(`the key ${key} of .PKGINFO has a relation that apk cannot read: ${JSON.stringify(text.slice(0, 80))}`)
}
