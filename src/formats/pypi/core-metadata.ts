// Core metadata: the files METADATA and PKG-INFO (https://packaging.python.org/specifications/core-metadata/). Pure.
import { normalPep440 } from '../../domain/versions/pep440.ts'
import type { PackageFacts, Requirement } from '../../domain/package.ts'
import { invalid } from '../archive/limits.ts'
import { checkCount, checkLine, quote } from '../bounds.ts'
import { archOf, canonicalName } from './names.ts'
import type { PypiFile, PypiRecord } from './record.ts'

/** Long descriptions of real packages have up to 300 KB. */
export const MOST_METADATA_BYTES = 1024 * 1024
const MOST_REQUIREMENTS = 4096
const MOST_CLASSIFIERS = 1024

/** Fields by name in lower case, each with its values in order. */
export type Fields = ReadonlyMap<string, readonly string[]>

/**
 * The fields in front of the description.
 * @param file names it in sentences
 * @throws Problem('invalid_package') for text that programs read differently
 */
export function readFields(text: string, file: string): Fields {
  const fields = new Map<string, string[]>()
  let last: string[] | null = null
  const end = /\r?\n\r?\n|$/.exec(text)!.index
  const head = text.slice(0, end)
  // Python's parser ends a line at a lone carriage return too.
  if (/\r(?!\n)/.test(head)) throw invalid(`the file ${file} has a lone carriage return`)
  for (const line of head.split(/\r?\n/)) {
    if (line === '') break
    if (/^[ \t]/.test(line) && last) {
      last.push(`${last.pop()}\n${line}`)
      continue
    }
    const [, key, value] = /^([A-Za-z][A-Za-z0-9-]*):(.*)$/.exec(line) ?? []
    if (key === undefined || value === undefined)
      throw invalid(`the file ${file} has a line that is no field: ${quote(line)}`)
    const known = key.toLowerCase()
    last = fields.get(known) ?? []
    fields.set(known, last)
    last.push(value.trim())
  }
  return fields
}

/** @throws Problem('invalid_package') for bytes that are not UTF-8, or have a NUL */
export function textOf(bytes: Uint8Array, file: string): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw invalid(`the file ${file} is not UTF-8`, cause)
  }
  if (text.includes('\0')) throw invalid(`the file ${file} has a NUL`)
  return text
}

export interface Content {
  file: PypiFile
  /** paths inside, without directories */
  files: string[]
  unpackedBytes: number
}

/** @param metadata of a wheel: its text with its digest @throws Problem('invalid_package') */
export function factsOf(
  fields: Fields,
  { file, files, unpackedBytes }: Content,
  metadata: PypiRecord['metadata'],
): PackageFacts<PypiRecord> {
  const what = file.kind === 'wheel' ? 'METADATA' : 'PKG-INFO'
  const one = (key: string) => only(fields, key, what)
  const list = (key: string) => fields.get(key) ?? []
  const rawName = required(one('name'), 'Name', what)
  const rawVersion = required(one('version'), 'Version', what)
  required(one('metadata-version'), 'Metadata-Version', what)
  const name = canonicalName(rawName)
  if (name === null) throw invalid(`the file ${what} has the Name ${quote(rawName)}, which no project may have`)
  const version = normalPep440(rawVersion)
  if (version === null)
    throw invalid(`the file ${what} has the Version ${quote(rawVersion)}; expected one of PEP 440, like 1.4.2`)
  for (const [key, values] of fields)
    if (!['description', 'license'].includes(key)) for (const value of values) checkLine(`a ${key}`, value)
  checkCount('requirements', list('requires-dist').length, MOST_REQUIREMENTS)
  checkCount('classifiers', list('classifier').length, MOST_CLASSIFIERS)
  const description = one('summary')?.split('\n')[0] ?? null
  return {
    format: 'pypi',
    ...{ name, version, arch: archOf(file), section: null, description },
    maintainer: one('maintainer-email') || one('author-email') || one('maintainer') || one('author'),
    license: licenseOf(fields),
    url: urlOf(fields),
    ...{ sourcePackage: null, sourceVersion: null, installedSizeKb: Math.ceil(unpackedBytes / 1024) },
    requirements: list('requires-dist').flatMap(requirementOf),
    ...{ provides: [], files, signatures: [] },
    record: {
      ...{ file, rawName, rawVersion, metadata },
      requiresPython: one('requires-python') || null,
      requiresDist: [...list('requires-dist')],
      extras: [...list('provides-extra')],
      classifiers: [...list('classifier')],
    },
  }
}

/** @throws Problem('invalid_package') when it is there twice: programs take the first or the last */
function only(fields: Fields, key: string, file: string): string | null {
  const values = fields.get(key) ?? []
  if (values.length > 1) throw invalid(`the file ${file} has the field ${key} twice`)
  return values[0] || null
}

function required(value: string | null, key: string, file: string): string {
  if (value === null) throw invalid(`the file ${file} has no ${key}`)
  return value
}

/** The field License may have the whole text of one. */
function licenseOf(fields: Fields): string | null {
  const expression = fields.get('license-expression')?.[0]
  if (expression) return expression
  const named = (fields.get('classifier') ?? [])
    .filter((one) => one.startsWith('License :: '))
    .flatMap((one) => one.split(' :: ').slice(-1))
  const written = fields.get('license')?.[0]
  if (written && !written.includes('\n') && written.length <= 200) return written
  return named.length > 0 ? named.join(', ') : null
}

const HOME = /^(?:home-?page|homepage|source|source code|repository|documentation)$/i

function urlOf(fields: Fields): string | null {
  const home = fields.get('home-page')?.[0]
  if (home && home !== 'UNKNOWN') return home
  const named = (fields.get('project-url') ?? []).map((one) => one.split(/,\s*/, 2))
  return named.find(([label = '']) => HOME.test(label.trim()))?.[1] ?? named[0]?.[1] ?? null
}

/** Weak, because repositories do not check whether what a library needs is there. */
function requirementOf(text: string): Requirement[] {
  const name = canonicalName(/^\s*([A-Za-z0-9._-]+)/.exec(text)?.[1] ?? '')
  return name === null ? [] : [{ kind: 'requires-dist', strong: false, anyOf: [{ name }], text }]
}
