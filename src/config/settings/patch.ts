// Reads the body of a PATCH into changes by path: nested, flat and masked values. Reports all faults at once. Pure.
import { Problem } from '../../domain/problem.ts'
import { equal, faultOf, LEAVES, MASK, ROOT_LEAVES, SECTIONS, type Leaf, type Values } from './leaves.ts'

export interface FieldError {
  field: string
  message: string
}

interface Assignment {
  leaf: Leaf
  /** the key as the client wrote it */
  field: string
  value: unknown
}

/** Secrets that are sent to a host, and the setting with the host. A new host does not get the secret of the old one. */
const SENT_TO: readonly [secret: string, host: string][] = [
  ['email.smtp_password', 'email.smtp_host'],
  ['ldap.bind_password', 'ldap.host'],
  ['oidc.client_secret', 'oidc.discovery_url'],
]

interface Reading {
  assignments: Assignment[]
  unknown: string[]
  errors: FieldError[]
}

/**
 * @param input the unvalidated body
 * @param before every setting in force
 * @param section the body holds keys of this section, not the whole document
 * @returns new values by path; a secret sent as `***` is not among them
 * @throws Problem('unknown_key') or Problem('validation_error') with every field at fault
 */
export function readPatch(input: unknown, before: Values, section?: string): Map<string, unknown> {
  const reading: Reading = { assignments: [], unknown: [], errors: [] }
  if (!isObject(input)) throw refusal('validation_error', [{ field: 'body', message: 'must be an object' }])
  if (section === undefined) readDocument(input, reading)
  else readSection(section, input, '', reading)

  const sent = new Map<string, Assignment>()
  for (const assignment of reading.assignments) {
    const other = sent.get(assignment.leaf.path)
    if (other && !equal(other.value, assignment.value)) {
      reading.errors.push({
        field: assignment.field,
        message: `differs from ${other.field}, which is the same setting`,
      })
    }
    sent.set(assignment.leaf.path, other ?? assignment)
  }
  const changes = new Map<string, unknown>()
  for (const assignment of sent.values()) resolve(assignment, before, changes, reading)
  for (const [secret, host] of SENT_TO) {
    const next = changes.get(host) ?? ''
    if (next === '' || next === before.get(host) || changes.has(secret) || before.get(secret) === '') continue
    reading.errors.push({
      field: section === undefined ? secret : secret.slice(section.length + 1),
      message: `must be sent again, or as "", because ${host} changes`,
    })
  }

  if (reading.unknown.length > 0)
    throw refusal(
      'unknown_key',
      reading.unknown.map((field) => ({ field, message: 'is not a setting' })),
    )
  if (reading.errors.length > 0) throw refusal('validation_error', reading.errors)
  return changes
}

function readDocument(input: Record<string, unknown>, reading: Reading): void {
  for (const [key, value] of Object.entries(input)) {
    const leaf = ROOT_LEAVES.get(key) ?? flatLeaf(key)
    // The whole answer of GET may be sent back; `_meta` is read-only.
    if (key === '_meta') continue
    else if (SECTIONS.has(key)) readSection(key, value, `${key}.`, reading)
    else if (key === 'ldap_url') readLdapUrl(value, reading)
    else if (leaf) reading.assignments.push({ leaf, field: key, value })
    else reading.unknown.push(key)
  }
}

function readSection(section: string, value: unknown, prefix: string, reading: Reading): void {
  if (!isObject(value)) {
    reading.errors.push({ field: section, message: 'must be an object' })
    return
  }
  for (const [key, inner] of Object.entries(value)) {
    const leaf = LEAVES.get(`${section}.${key}`)
    if (leaf) reading.assignments.push({ leaf, field: `${prefix}${key}`, value: inner })
    else reading.unknown.push(`${prefix}${key}`)
  }
}

/** Finds the setting of `<section>_<key>`; section names contain underscores too. */
function flatLeaf(key: string): Leaf | undefined {
  return [...SECTIONS.keys()]
    .filter((section) => key.startsWith(`${section}_`))
    .map((section) => LEAVES.get(`${section}.${key.slice(section.length + 1)}`))
    .find((leaf) => leaf !== undefined)
}

/** `ldap://h:p` and `ldaps://h:p` set host, port and use_ssl (docs/api-decisions.md, section 15); empty text clears the host. */
function readLdapUrl(value: unknown, reading: Reading): void {
  const assign = (key: string, part: unknown) =>
    reading.assignments.push({ leaf: LEAVES.get(`ldap.${key}`) as Leaf, field: 'ldap_url', value: part })
  if (value === '' || value === null) {
    assign('host', '')
    return
  }
  const match =
    typeof value === 'string'
      ? /^(ldaps?):\/\/(\[[0-9A-Fa-f:.]+\]|[^/:@?#\s[\]]+)(?::(\d{1,5}))?\/?$/.exec(value)
      : null
  if (!match) {
    reading.errors.push({ field: 'ldap_url', message: 'must be ldap://host:port or ldaps://host:port' })
    return
  }
  const [, scheme, host = '', port] = match
  assign('host', host.replace(/^\[|\]$/g, ''))
  assign('port', port === undefined ? (scheme === 'ldaps' ? 636 : 389) : Number(port))
  assign('use_ssl', scheme === 'ldaps')
}

function resolve(
  { leaf, field, value }: Assignment,
  before: Values,
  changes: Map<string, unknown>,
  reading: Reading,
): void {
  if (leaf.secret && value === MASK) return
  let next = leaf.secret && value === null ? '' : value
  if (leaf.entries && isObject(value)) {
    const { pattern, merged } = mergeEntries(leaf, before.get(leaf.path) as Record<string, unknown>, value)
    const strangers = Object.keys(value).filter((key) => !pattern.test(key))
    if (strangers.length > 0) {
      reading.unknown.push(...strangers.map((key) => `${field}.${key}`))
      return
    }
    next = merged
  }
  const fault = faultOf(leaf, next)
  if (fault) reading.errors.push({ field: `${field}${fault.at}`, message: fault.message })
  else changes.set(leaf.path, next)
}

/** Adds entries to a map; null removes one. */
function mergeEntries(leaf: Leaf, before: Record<string, unknown>, sent: Record<string, unknown>) {
  const [source = ''] = Object.keys((leaf.schema as { patternProperties?: object }).patternProperties ?? {})
  const merged = Object.fromEntries(Object.entries({ ...before, ...sent }).filter(([, value]) => value !== null))
  return { pattern: new RegExp(source, 'u'), merged }
}

function refusal(code: 'unknown_key' | 'validation_error', errors: FieldError[]): Problem {
  const detail = errors
    .slice(0, 5)
    .map(({ field, message }) => `${field} ${message}`)
    .join('; ')
  return new Problem(code, `${detail}${errors.length > 5 ? ` and ${errors.length - 5} more` : ''}.`, { errors })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
