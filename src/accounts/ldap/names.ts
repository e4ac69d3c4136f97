// Names in directories: filters with a user name inside, and groups by name or DN. Pure.
import { ROLES, type Role } from '../../domain/roles.ts'
import type { Settings } from '../../domain/settings.ts'

/** RFC 4515, section 3: characters with a meaning in filters are written as their bytes. */
export function escapeFilterValue(value: string): string {
  return value.replace(/[\\*()\0]/g, (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** Puts a user name into the filter of the settings. */
export function filterFor(template: string, username: string): string {
  // A function, because `$&` in a replacement text has a meaning.
  return template.replaceAll('{username}', () => escapeFilterValue(username))
}

/**
 * Finds the entry of an account by its name, among the entries that the filter of the settings accepts: `{username}` becomes
 * "any value", because people may log in with another attribute than the one that names the account.
 */
export function filterOfAccount({ user_filter, attr_username }: Settings['ldap'], username: string): string {
  return `(&(${attr_username}=${escapeFilterValue(username)})${user_filter.replaceAll('{username}', '*')})`
}

/** A DN in one spelling (RFC 4514), so that equal DNs are equal texts; null for text that is not a DN. */
export function normalDn(text: string): string | null {
  const rdns = parseDn(text)
  return rdns && inOneSpelling(rdns)
}

const inOneSpelling = (rdns: Rdn[]) =>
  rdns.map((parts) => parts.map(([type, value]) => `${type}=${escapeDnValue(value)}`).join('+')).join(',')

/** RFC 4514, section 2.4. */
function escapeDnValue(value: string): string {
  return value.replace(/[\\,+"<>;=\0]/g, (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

type Rdn = [type: string, value: string][]

/** Types and values in lower case, spaces around them removed. The attribute values that name groups ignore case. */
function parseDn(text: string): Rdn[] | null {
  const rdns: Rdn[] = [[]]
  let rest = text
  while (rest !== '') {
    const type = /^ *([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)*) *= */.exec(rest)
    if (!type) return null
    rest = rest.slice(type[0].length)
    const value = /^(?:\\[0-9A-Fa-f]{2}|\\[^0-9A-Fa-f]|[^\\,+])*/.exec(rest)?.[0] ?? ''
    rest = rest.slice(value.length)
    const plain = unescape(value)
    if (plain === null) return null
    rdns.at(-1)?.push([(type[1] ?? '').toLowerCase(), plain.toLowerCase()])
    if (rest === '') break
    if (rest[0] === ',') rdns.push([])
    else if (rest[0] !== '+') return null
    rest = rest.slice(1)
    if (rest === '') return null
  }
  const known = rdns.filter((parts) => parts.length > 0)
  return known.length === 0 ? null : known.map((parts) => parts.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The value of an attribute, without escapes and outer spaces; null when it is not well-formed. */
function unescape(value: string): string | null {
  const bytes: number[] = []
  // Spaces at the end have no meaning unless they are escaped.
  const trimmed = value.replace(/((?:^|[^\\])(?:\\\\)*) +$/, '$1')
  for (const [piece] of trimmed.matchAll(/\\[0-9A-Fa-f]{2}|\\[^]|[^\\]/gu)) {
    if (/^\\[0-9A-Fa-f]{2}$/.test(piece)) bytes.push(Number.parseInt(piece.slice(1), 16))
    else bytes.push(...Buffer.from(piece.startsWith('\\') ? piece.slice(1) : piece, 'utf8'))
  }
  const text = Buffer.from(bytes).toString('utf8')
  return text.includes('\ufffd') ? null : text
}

/**
 * What a value of the group attribute is called: the whole value, the whole DN, and the whole value of its first attribute. Never a
 * part of a name: `admins` is not `repo-admins`. A group is one of these when its `keyOfGroup` is among them.
 */
export function keysOfValue(value: string): string[] {
  const rdns = parseDn(value)
  const keys = [nameKey(value)]
  if (rdns === null) return keys
  keys.push(dnKey(inOneSpelling(rdns)))
  const [[first, ...others] = []] = rdns
  return first && others.length === 0 ? [...keys, nameKey(first[1])] : keys
}

/** A group that is named by its DN is never found by a name: a value may begin with an attribute whose value looks like that DN. */
export function keyOfGroup(group: string): string {
  const dn = normalDn(group)
  return dn === null ? nameKey(group) : dnKey(dn)
}

const nameKey = (name: string) => `name ${name.toLowerCase()}`
const dnKey = (dn: string) => `dn ${dn}`

/** Whether any group decides about roles. */
export function mapsGroups(ldap: Settings['ldap']): boolean {
  return ROLES.some((role) => ldap[`group_${role}`] !== '')
}

/** The first role, from admin down, of whose group the person is a member; else the default. */
export function roleOf(groups: readonly string[], ldap: Settings['ldap']): Role {
  const keys = new Set(groups.flatMap(keysOfValue))
  const mapped = ROLES.find((role) => {
    const group = ldap[`group_${role}`]
    return group !== '' && keys.has(keyOfGroup(group))
  })
  return mapped ?? ldap.default_role
}
