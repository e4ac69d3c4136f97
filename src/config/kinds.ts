// Parses the text of environment variables. Errors never quote the value.
import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { isPublicAddress } from '../domain/setting-kinds.ts'
import { CHECKPOINTS } from '../kernel/checkpoint.ts'

/** One kind of value; `parse` throws an Error whose message finishes the sentence "NAME …" and never repeats the text. */
export interface Kind<T> {
  /** as the documentation page names it */
  label: string
  parse(text: string): T
}

/** The value for an empty list, because an empty variable counts as unset. */
const NONE = 'none'

/** The same kind, with `none` for null: for variables whose default is not null. */
export function orNone<T>(kind: Kind<T>): Kind<T | null> {
  return { label: `${kind.label}; \`${NONE}\` for none`, parse: (value) => (value === NONE ? null : kind.parse(value)) }
}

export const text: Kind<string> = { label: 'text', parse: (value) => value }

export function choice<const T extends string>(...words: readonly T[]): Kind<T> {
  return {
    label: words.map((word) => `\`${word}\``).join(', '),
    parse(value) {
      const word = words.find((candidate) => candidate === value)
      if (word === undefined) throw new Error(`must be one of ${words.join(', ')}`)
      return word
    },
  }
}

export const flag: Kind<boolean> = {
  label: '`true` or `false`',
  parse(value) {
    if (/^(true|1|yes|on)$/i.test(value)) return true
    if (/^(false|0|no|off)$/i.test(value)) return false
    throw new Error('must be true or false')
  },
}

export function integer(minimum: number, maximum: number): Kind<number> {
  return {
    label: `whole number, ${minimum} to ${maximum}`,
    parse(value) {
      const number = /^\d{1,15}$/.test(value) ? Number(value) : NaN
      if (!(number >= minimum && number <= maximum))
        throw new Error(`must be a whole number from ${minimum} to ${maximum}`)
      return number
    },
  }
}

/** 0 lets the system choose a free port. */
export const port: Kind<number> = {
  label: 'port, 1 to 65535; 0 takes any free one',
  parse: (value) => integer(0, 65535).parse(value),
}

export const positiveNumber: Kind<number> = {
  label: 'number above 0',
  parse(value) {
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN
    if (!(number > 0 && number < Infinity)) throw new Error('must be a number above 0')
    return number
  },
}

export const ratio: Kind<number> = {
  label: 'number from 0 to 1',
  parse(value) {
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN
    if (!(number >= 0 && number <= 1)) throw new Error('must be a number from 0 to 1')
    return number
  },
}

/** An absolute path, or one below the working directory. */
export const path: Kind<string> = {
  label: 'path',
  parse(value) {
    if (value.includes('\0')) throw new Error('must be a path')
    return value
  },
}

export const absolutePath: Kind<string> = {
  label: 'absolute path',
  parse(value) {
    if (!isAbsolute(value) || value.includes('\0')) throw new Error('must be an absolute path')
    return value
  },
}

/** An address with one of the given schemes; kept as written, without slashes at its end. */
export function url(...schemes: string[]): Kind<string> {
  const list = schemes.map((scheme) => `${scheme}://`).join(' or ')
  return {
    label: `address, ${list}`,
    parse(value) {
      const parsed = URL.canParse(value) ? new URL(value) : null
      if (!parsed || !schemes.includes(parsed.protocol.slice(0, -1)) || !parsed.hostname) {
        throw new Error(`must be an address that begins with ${list}`)
      }
      return value.replace(/\/+$/, '')
    },
  }
}

/** An http address that is copied into scripts and configuration files, so nothing in it may need escaping. */
export const publicAddress: Kind<string> = {
  label: 'address, http:// or https://',
  parse(value) {
    const fault = isPublicAddress(value)
    if (fault !== null) throw new Error(fault)
    return value.replace(/\/+$/, '')
  },
}

/** PostgreSQL by its connection string, or PGlite by a directory. */
export const databaseUrl: Kind<string> = {
  label: '`postgres://…` or `pglite://<directory>`',
  parse(value) {
    if (/^postgres(ql)?:\/\//.test(value) && URL.canParse(value)) return value
    if (/^pglite:\/\/./.test(value) && decodes(value)) return value
    throw new Error(
      'must be postgres://user:password@host/database (special characters percent-encoded) or pglite://<directory>',
    )
  },
}

export const username: Kind<string> = {
  label: 'user name',
  parse(value) {
    if (!/^[A-Za-z0-9._@-]{3,64}$/.test(value)) throw new Error('must be 3 to 64 letters, digits or . _ @ -')
    return value
  },
}

const HOSTNAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/i

export const host: Kind<string> = {
  label: 'host name or address',
  parse(value) {
    const bare = value.replace(/^\[(.*)\]$/, '$1')
    // Digits and dots that are not a full address (127.1, 2130706433) would still be resolved to one.
    if (isIP(bare) === 0 && (!HOSTNAME.test(bare) || /^[\d.]+$/.test(bare)))
      throw new Error('must be a host name or an IP address')
    return bare.toLowerCase()
  },
}

export const headerName: Kind<string> = {
  label: 'name of a header',
  parse(value) {
    if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(value)) throw new Error('must be the name of a header')
    return value.toLowerCase()
  },
}

/** An address to listen on. */
export const bindAddress: Kind<string> = {
  label: 'IP address or `localhost`',
  parse(value) {
    if (isIP(value) === 0 && value !== 'localhost') throw new Error('must be an IP address or localhost')
    return value
  },
}

export const network: Kind<string> = {
  label: 'address or network',
  parse(value) {
    const [address = '', prefix, ...rest] = value.split('/')
    const family = isIP(address)
    const fits = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32))
    if (family === 0 || !fits || rest.length > 0)
      throw new Error('must hold IP addresses or networks such as 10.0.0.0/8')
    return value
  },
}

/** Scheme, host and port as a browser's `Origin` header writes them (RFC 6454, section 6.1). */
export const origin: Kind<string> = {
  label: 'origin',
  parse(value) {
    const parsed = URL.canParse(value) ? new URL(value) : null
    const bare = parsed && parsed.pathname === '/' && !/[?#@\\]/.test(value)
    if (!bare || !/^https?:\/\/[^/*]/i.test(value)) {
      throw new Error('must hold origins such as https://packages.example.org, without a path; * is not accepted')
    }
    return parsed.origin
  },
}

/** Names separated by commas; `none` for no entry at all. */
export function list<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    label: `list, separated by commas, of: ${kind.label}; \`${NONE}\` for an empty list`,
    parse(value) {
      if (value.toLowerCase() === NONE) return []
      const entries = value.split(',').map((entry) => entry.trim())
      return entries.filter((entry) => entry !== '').map((entry) => kind.parse(entry))
    },
  }
}

export const checkpoint: Kind<string> = {
  label: '`<checkpoint>` or `<checkpoint>:<n>`',
  parse(value) {
    const [name, nth = '1', ...rest] = value.split(':')
    const known = (CHECKPOINTS as readonly string[]).includes(name as string)
    if (!known || !/^[1-9]\d{0,5}$/.test(nth) || rest.length > 0)
      throw new Error('must be a known checkpoint, or one with :n')
    return value
  },
}

function decodes(value: string): boolean {
  try {
    decodeURIComponent(value)
    return true
  } catch {
    return false
  }
}
