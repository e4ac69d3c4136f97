// `.PKGINFO` as text: keys and values in order (apk-v2(5), "THE CONTROL SECTION"). The meaning of the values is read elsewhere.
import { invalid } from '../archive/limits.ts'

export type PkginfoField = [key: string, value: string]

/** Keys with one value: given two, apk reads the last and other readers the first. */
const SINGLE = new Set([
  'pkgname',
  'pkgver',
  'pkgdesc',
  'url',
  'builddate',
  'packager',
  'size',
  'arch',
  'origin',
  'commit',
  'maintainer',
  'datahash',
  'provider_priority',
  'replaces_priority',
])
/** melange writes a line for each licence; apk keeps the last one. */
const LICENSE = 'license'
/** Keys of lists: blanks separate items, and further lines add to them. */
export const LISTS: ReadonlySet<string> = new Set(['depend', 'provides', 'replaces', 'install_if', 'triggers'])
const KNOWN = new Set([...SINGLE, LICENSE, ...LISTS])
const MOST_FIELDS = 50_000

/**
 * Lines of `key = value`; comments and other lines are ignored, as apk does.
 * @throws Problem('invalid_package') for control characters, for a second value of a single-value key, and for a known key
 *   in a line that apk ignores but other readers do not
 */
export function parsePkginfo(text: string): PkginfoField[] {
  if (/[\x00-\x08\x0b-\x1f\x7f]/.test(text)) throw invalid('the file .PKGINFO has a control character')
  const fields: PkginfoField[] = []
  const seen = new Set<string>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const at = line.indexOf(' = ')
    const key = at === -1 ? '' : line.slice(0, at)
    if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,99}$/.test(key)) {
      refuseLookalike(line)
      continue
    }
    if (SINGLE.has(key) && seen.has(key)) throw invalid(`the file .PKGINFO has the key ${key} twice`)
    if (fields.length === MOST_FIELDS) throw invalid('the file .PKGINFO has too many lines')
    seen.add(key)
    fields.push([key, line.slice(at + 3)])
  }
  return fields
}

/** The value of a key as `apk index` copies it, for licences the last one; null if it is missing. */
export function rawValueOf(fields: readonly PkginfoField[], key: string): string | null {
  return fields.findLast(([name]) => name === key)?.[1] ?? null
}

/** The same without surrounding blanks; null if it is empty, too. */
export function valueOf(fields: readonly PkginfoField[], key: string): string | null {
  return rawValueOf(fields, key)?.trim() || null
}

/** All lines of licences as one SPDX expression; null if there is none. */
export function licenseOf(fields: readonly PkginfoField[]): string | null {
  const all = new Set(fields.flatMap(([name, value]) => (name === LICENSE ? value.trim() || [] : [])))
  if (all.size < 2) return [...all][0] ?? null
  return [...all].map((one) => (/ OR /i.test(one) ? `(${one})` : one)).join(' AND ')
}

/** The items of all lines of a key, separated by blanks. */
export function itemsOf(fields: readonly PkginfoField[], key: string): string[] {
  return fields.flatMap(([name, value]) => (name === key ? value.split(' ').filter((item) => item !== '') : []))
}

/** UTF-8, otherwise Latin-1. */
export function decodePkginfo(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return Buffer.from(bytes).toString('latin1')
  }
}

function refuseLookalike(line: string): void {
  const equals = line.indexOf('=')
  if (equals === -1 || line.slice(equals + 1).trim() === '') return
  const key = line.slice(0, equals).trim()
  if (KNOWN.has(key)) throw invalid(`the file .PKGINFO has the key ${key} in a line that apk does not read`)
}
