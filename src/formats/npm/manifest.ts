// package.json, reduced to what clients can rely on: fields of another type than npm documents are left out.
import { isObject } from '../../domain/json.ts'
import { isStorableJson } from '../../domain/storable.ts'
import { invalid } from '../archive/limits.ts'
import { checkText, quote } from '../bounds.ts'
import { canonicalName, plainName } from './names.ts'
import { canonicalVersion } from './versions.ts'

/** package.json as the documents of its repository show it. */
export interface Manifest extends Record<string, unknown> {
  name: string
  version: string
}

const MOST_VALUES = 20_000
const MOST_DEPTH = 40
/** Versions come from files, so that what a client says about them beside the file changes nothing. */
const OURS = ['dist', 'deprecated', 'readme', 'readmeFilename', 'hasInstallScript']
export const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const
const PLATFORMS = ['os', 'cpu', 'libc'] as const

export type Fields = Record<string, unknown>

/** @throws Problem('invalid_package') */
export const readManifest = (bytes: Uint8Array): Manifest => manifestOf(parse(bytes))

/** Takes keys that would set a prototype away from what it is given. @throws Problem('invalid_package') */
export function manifestOf(fields: Fields): Manifest {
  requireSimple(fields)
  if (!isStorableJson(fields)) throw invalid('the file package.json has a NUL or half a surrogate pair')
  const { name, version } = fields
  if (typeof name !== 'string' || canonicalName(name) !== name)
    throw invalid(`the file package.json has the name ${shown(name)}, which no package may have`)
  const canonical = typeof version === 'string' ? canonicalVersion(version) : null
  if (canonical === null)
    throw invalid(`the file package.json has the version ${shown(version)}; expected one like 1.2.3`)
  const kept = Object.fromEntries(Object.entries(fields).filter(([key]) => !key.startsWith('_') && !OURS.includes(key)))
  return { ...kept, ...checked(kept, name), name, version: canonical }
}

const shown = (value: unknown): string => (typeof value === 'string' ? quote(value) : 'that is no text')

function parse(bytes: Uint8Array): Fields {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw invalid('the file package.json is not JSON in UTF-8', error)
  }
  if (!isObject(value)) throw invalid('the file package.json is not an object')
  return value
}

/** Bounds what is walked later, and takes away keys that would set a prototype. */
function requireSimple(root: Fields): void {
  let values = 0
  const walk = (value: unknown, depth: number): void => {
    if (++values > MOST_VALUES) throw invalid(`the file package.json has more than ${MOST_VALUES} values`)
    if (typeof value !== 'object' || value === null) return
    if (depth > MOST_DEPTH) throw invalid(`the file package.json is nested deeper than ${MOST_DEPTH} levels`)
    Reflect.deleteProperty(value, '__proto__')
    for (const inner of Object.values(value)) walk(inner, depth + 1)
  }
  walk(root, 0)
}

/** The fields that installations depend on; undefined for one of another type. */
function checked(fields: Fields, name: string): Fields {
  const { bundleDependencies = fields['bundledDependencies'], description } = fields
  if (typeof description === 'string') checkText('a description', description)
  return {
    ...Object.fromEntries(DEPENDENCIES.map((key) => [key, textsOf(fields[key])])),
    ...Object.fromEntries(PLATFORMS.map((key) => [key, listOf(fields[key])])),
    engines: textsOf(fields['engines']),
    scripts: textsOf(fields['scripts']),
    bin: typeof fields['bin'] === 'string' ? { [plainName(name)]: fields['bin'] } : textsOf(fields['bin']),
    bundleDependencies: typeof bundleDependencies === 'boolean' ? bundleDependencies : listOf(bundleDependencies),
    bundledDependencies: undefined,
    description: typeof description === 'string' ? description : undefined,
  }
}

function textsOf(value: unknown): Record<string, string> | undefined {
  if (!isObject(value)) return undefined
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  )
}

function listOf(value: unknown): string[] | undefined {
  const list = typeof value === 'string' ? [value] : value
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : undefined
}

/** A person: `Ada <ada@example.org> (https://…)`, or an object. */
export interface Person {
  name: string
  email?: string
}

/** @returns null for what names nobody */
export function personOf(value: unknown): Person | null {
  if (typeof value === 'string') {
    const [, name = '', email] = /^([^<(]*)(?:<([^>]*)>)?/.exec(value) ?? []
    return name.trim() === '' ? null : { name: name.trim(), ...(email ? { email } : {}) }
  }
  if (!isObject(value) || typeof value['name'] !== 'string') return null
  const { name, email } = value
  return { name, ...(typeof email === 'string' ? { email } : {}) }
}

/** The license as one text; old packages state an object, or several. */
export function licenseOf({ license, licenses }: Fields): string | null {
  const textOf = (one: unknown): string[] =>
    typeof one === 'string' ? [one] : isObject(one) && typeof one['type'] === 'string' ? [one['type']] : []
  const stated = license ?? licenses
  return (Array.isArray(stated) ? stated.flatMap(textOf) : textOf(stated)).join(' OR ') || null
}
