// Checks that a reader's answer has the requested form, because hostile bytes may have taken the reader over.
import type { FileDigest, MirrorList, RepositoryDescription, RepositoryIndex } from '../../formats/catalog.ts'
import type { NotCarried } from '../../domain/not-carried.ts'
import type { Described, Need } from './describe.ts'

type Shape<T> = Partial<Record<keyof T, unknown>>
const shapeOf = <T>(value: unknown) => (typeof value === 'object' && value !== null ? value : {}) as Shape<T>

const isText = (value: unknown): value is string => typeof value === 'string'
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value)
const isTexts = (value: unknown): value is string[] => isArrayOf(value, isText)
const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isSizeOrNull = (value: unknown): value is number | null => value === null || isSize(value)
const isDateOrNull = (value: unknown): value is Date | null =>
  value === null || (value instanceof Date && !Number.isNaN(value.getTime()))
const isArrayOf = (value: unknown, is: (one: unknown) => boolean): boolean => Array.isArray(value) && value.every(is)

export function isVerified(value: unknown): value is { text: string; signedBy: string[] } {
  const { text, signedBy } = shapeOf<{ text: string; signedBy: string[] }>(value)
  return isText(text) && isTexts(signedBy)
}

export function isDescribed(value: unknown): value is Described {
  const { description, need } = shapeOf<{ description: unknown; need: unknown }>(value)
  return description === undefined ? isNeed(need) : description === 'unchanged' || isDescription(description)
}

function isNeed(value: unknown): boolean {
  const { kind, path, paths, mostBytes } = shapeOf<{
    kind: Need['kind']
    path: string
    paths: string[]
    mostBytes: number
  }>(value)
  return isSize(mostBytes) && (kind === 'roots' ? isTexts(paths) : kind === 'small' && isText(path))
}

function isDescription(value: unknown): boolean {
  const { date, validUntil, signedBy, indexes, notCarried } = shapeOf<RepositoryDescription>(value)
  const isSigned = isDateOrNull(date) && isDateOrNull(validUntil) && isTexts(signedBy)
  return isSigned && isArrayOf(indexes, isIndex) && isArrayOf(notCarried, isNotCarried)
}

function isNotCarried(value: unknown): boolean {
  const { what, count, names } = shapeOf<NotCarried>(value)
  return isText(what) && isSizeOrNull(count) && isTexts(names) && names.length <= 100
}

function isIndex(value: unknown): boolean {
  const { name, arch, from, openSizeBytes } = shapeOf<RepositoryIndex>(value)
  const isForm = (form: unknown) => {
    const { paths, sizeBytes, digest } = shapeOf<RepositoryIndex['from'][number]>(form)
    return isTexts(paths) && isSize(sizeBytes) && isDigest(digest)
  }
  return isText(name) && isTextOrNull(arch) && isSizeOrNull(openSizeBytes) && isArrayOf(from, isForm)
}

function isDigest(value: unknown): boolean {
  const { algorithm, hex } = shapeOf<FileDigest>(value)
  return ['sha256', 'sha384', 'sha512'].includes(algorithm as string) && isText(hex)
}

export function isMirrorList(value: unknown): value is MirrorList {
  const { bases, expected } = shapeOf<MirrorList>(value)
  const isExpected = (one: unknown) => {
    const { sizeBytes, digest } = shapeOf<NonNullable<MirrorList['expected']>[number]>(one)
    return isSizeOrNull(sizeBytes) && isDigest(digest)
  }
  return isTexts(bases) && (expected === null || isArrayOf(expected, isExpected))
}
