// The kinds of value a setting can have, as TypeBox schemas with their default. Browser-safe.
import Type, { type Static, type TObject, type TSchema } from 'typebox'

/** Returns what is wrong, as the end of the sentence "FIELD …", or null. Empty text never reaches it. */
export type TextCheck = (value: string) => string | null

interface TextOptions {
  check?: TextCheck
  maxLength?: number
  /** empty text is refused */
  needed?: boolean
}

export const flag = (value: boolean, description: string) => Type.Boolean({ default: value, description })

export const integer = (value: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ default: value, minimum, maximum, description })

export const choice = <const T extends string>(words: readonly T[], value: T, description: string) =>
  Type.Enum([...words], { default: value, description })

/** One of the words, or null for "not set". */
export const optionalChoice = <const T extends string>(words: readonly T[], description: string) =>
  Type.Union([Type.Enum([...words]), Type.Null()], { default: null, description })

/** One line of text; empty means not set. */
export function line(value: string, description: string, options: TextOptions = {}) {
  const schema = Type.String({ default: value, maxLength: options.maxLength ?? 1024, description })
  return withCheck(schema, options)
}

/** Stored sealed and shown as `***`; `format: password` marks it in the schema and in OpenAPI. */
export function secret(description: string) {
  return withCheck(Type.String({ default: '', maxLength: 1024, format: 'password', description }), {})
}

/** Entries that are added and removed by name; null removes one. */
export function entries<T extends TSchema>(key: string, value: T, description: string) {
  return Type.Record(Type.String({ pattern: key }), value, {
    default: {},
    additionalProperties: false,
    maxProperties: 200,
    description,
  })
}

/** An ordered list of objects; a change replaces all of it. @param fault returns what is wrong with the list, or null */
export function list<T extends TObject>(
  item: T,
  maxItems: number,
  fault: (items: Static<T>[]) => string | null,
  description: string,
) {
  return Type.Refine(
    Type.Array(item, { default: [], maxItems, description }),
    (items) => fault(items) === null,
    (items) => fault(items) ?? 'is not valid',
  )
}

/** Marks a setting, or a section of them, that is accepted and kept but has no effect yet. @param reason ends "no effect: …" */
export function inactive<T extends TSchema>(reason: string, schema: T): T {
  return Object.assign(schema, { [INACTIVE]: reason })
}

const INACTIVE = 'x-inactive'

/** Why a setting or a section has no effect yet; null for one that acts. */
export function inactiveReason(schema: TSchema): string | null {
  return (schema as { [INACTIVE]?: string })[INACTIVE] ?? null
}

export function isSecret(schema: TSchema): boolean {
  return (schema as { format?: string }).format === 'password'
}

/** True for maps made by `entries`, whose keys are data. */
export function isEntries(schema: TSchema): boolean {
  return 'patternProperties' in schema
}

function withCheck(schema: ReturnType<typeof Type.String>, options: TextOptions) {
  const fault = (value: unknown): string | null => {
    // Another rule reports that it is not text.
    if (typeof value !== 'string') return null

    if (/[\u0000-\u001f\u007f\u2028\u2029]/.test(value)) return 'must not hold control characters or line breaks'
    if (value === '') return options.needed ? 'must not be empty' : null
    return options.check?.(value) ?? null
  }
  return Type.Refine(
    schema,
    (value) => fault(value) === null,
    (value) => fault(value) ?? 'is not valid',
  )
}

const HOSTNAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i

export const isHttpUrl: TextCheck = (value) => {
  const url = URL.canParse(value) && /^https?:\/\//i.test(value) ? new URL(value) : null
  if (!url?.hostname) return 'must be an address that begins with http:// or https://'
  return url.username || url.password ? 'must not carry a user name or password' : null
}

/** An http address that is copied into scripts and configuration files, so nothing in it may need escaping. */
export const isPublicAddress: TextCheck = (value) =>
  URL.canParse(value) && /^https?:\/\/[A-Za-z0-9._:[\]-]+(\/[A-Za-z0-9._~-]+)*\/?$/.test(value)
    ? null
    : 'must be an address such as https://packages.example.org, without credentials and query'

/** OpenID Connect Discovery, section 2: an issuer has no query and no fragment. */
export const isIssuer: TextCheck = (value) =>
  isHttpUrl(value) ?? (/[?#]/.test(value) ? 'must be an address without query and fragment' : null)

export const isHost: TextCheck = (value) => {
  const fits =
    HOSTNAME.test(value) ||
    (/^\[?[0-9a-f:.]*:[0-9a-f:.]*\]?$/i.test(value) && URL.canParse(`http://[${value.replace(/^\[|\]$/g, '')}]/`))
  return fits ? null : 'must be a host name or an IP address, without port'
}

/** The part of RFC 5322 that mail servers really accept: no quoted local part, no comments. */
const MAILBOX =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/

/** Only an address, without a name before it. */
export const isMailbox = (value: string) => value.length <= 254 && MAILBOX.test(value)

export const isMailAddress: TextCheck = (value) => {
  const named = /^[^<>,;"]*<([^<>]+)>$/.exec(value.trim())
  return isMailbox(named?.[1] ?? value) ? null : 'must be an e-mail address'
}

export const isMailAddressList: TextCheck = (value) => {
  const addresses = value
    .split(/[,;]/)
    .map((address) => address.trim())
    .filter(Boolean)
  return addresses.every(isMailbox) ? null : 'must be e-mail addresses, separated by commas or semicolons'
}

export const isTimeZone: TextCheck = (value) => {
  try {
    // Newer engines also take offsets such as +01:00; an offset has no daylight saving time.
    new Intl.DateTimeFormat('en', { timeZone: value })
    if (/^[A-Za-z]/.test(value)) return null
  } catch {
    // A RangeError: the zone is unknown.
  }
  return 'must be a time zone such as Europe/Paris'
}

export const isAbsolutePath: TextCheck = (value) => (value.startsWith('/') ? null : 'must be an absolute path')

export const isPathList: TextCheck = (value) =>
  value.split(',').every((path) => /^\/.*[^/]$/.test(path.trim()))
    ? null
    : 'must be absolute paths of files, separated by commas'

/** RFC 4515: literal parentheses are written \28 and \29 inside a value, so the others balance. */
export const isUserFilter: TextCheck = (value) => {
  let depth = 0
  for (let at = 0; at < value.length; at++) {
    const character = value[at]
    if (character === '(') depth++
    if (character === ')' && --depth <= 0 && (depth < 0 || at !== value.length - 1))
      return 'must be one filter in parentheses'
  }
  if (depth !== 0 || !value.startsWith('(')) return 'must be one filter in parentheses'
  return value.includes('{username}') ? null : 'must contain {username}, or every name would match'
}

/** RFC 4512, section 2.5: a name or an OID, perhaps with options. */
export const isAttribute: TextCheck = (value) =>
  /^([A-Za-z][A-Za-z0-9-]*|\d+(\.\d+)+)(;[A-Za-z0-9-]+)*$/.test(value) ? null : 'must be the name of an LDAP attribute'

export const hasOpenidScope: TextCheck = (value) =>
  value.split(' ').includes('openid') ? null : 'must be scopes separated by spaces, openid among them'
