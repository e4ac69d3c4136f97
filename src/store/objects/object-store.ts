// The interface of an object store, and the names of objects in a published tree.
import type { Readable } from 'node:stream'
import type { FormatId } from '../../domain/package.ts'
import { ECOSYSTEMS } from '../../formats/index.ts'
import { Problem } from '../../domain/problem.ts'

/** Every method throws Problem('storage_unavailable') when the store does not answer or refuses the request. */
export interface ObjectStore {
  /** `s3://bucket/prefix`: for people, without credentials */
  name: string
  /** the same with its endpoint and region, in the form of `POOL_URL` */
  address: string
  /** Stores a file, which the store verifies. @throws when the file has another SHA-256 */
  put(key: string, path: string, sha256: string): Promise<void>
  /** Opens an object, or a range of it with both ends included; null when there is none. The caller reads or destroys the stream. */
  get(key: string, range?: { first: number; last: number }): Promise<OpenObject | null>
  /** Size in bytes; null when there is no such object. */
  size(key: string): Promise<number | null>
  /** A page of at most 1,000 objects whose keys begin like this, in the order of their keys. @param after a key */
  list(prefix: string, after: string): Promise<{ objects: ListedObject[]; isLast: boolean }>
  /** Succeeds when there is no such object. @throws RemovalUncertain when the store may execute the removal later */
  remove(key: string): Promise<void>
  /** An address with which anyone may read this object, and nothing else, for some time. */
  signedUrl(key: string, seconds: number, mediaType: string): Promise<string>
  /** Checks that the store answers and accepts the credentials. */
  check(): Promise<void>
  close(): void
}

export interface ListedObject {
  key: string
  sizeBytes: number
}

export interface OpenObject {
  sizeBytes: number
  modifiedAt: Date
  stream: Readable
}

/** How long a client should wait before it repeats a request that the store could not serve. */
const RETRY_SECONDS = 30

/** @param isRefusal the store answered, and repeating the request does not help: wrong credentials, no such bucket */
export class StorageUnavailable extends Problem {
  readonly isRefusal: boolean
  constructor(detail: string, isRefusal: boolean) {
    super('storage_unavailable', detail, {}, { retryAfterSeconds: RETRY_SECONDS })
    this.isRefusal = isRefusal
  }
}

/** The store did not answer a removal: it may execute the removal at any later moment. */
export class RemovalUncertain extends StorageUnavailable {
  constructor(detail: string) {
    super(detail, false)
  }
}

/** An object as a link in a published tree names it. The link leads to no file. */
export interface LinkedObject {
  format: FormatId
  sha256: string
  sizeBytes: number
}

/** Prefix of the key in links, findings and messages. */
const OBJECT = 'object:'

/** Objects are named by their content, so no two packages share one, and a name reveals nothing about a package. */
export const objectKey = ({ format, sha256 }: Pick<LinkedObject, 'format' | 'sha256'>): string => `${format}/${sha256}`

export const linkTarget = (object: LinkedObject): string => `${objectName(object)}/${object.sizeBytes}`

/** Reads the target of a link; null for a link to anything else. */
export function parseLinkTarget(target: string): LinkedObject | null {
  const [, format, sha256, size] = /^object:([a-z]+)\/([0-9a-f]{64})\/(\d{1,15})$/.exec(target) ?? []
  const known = ECOSYSTEMS.find((id) => id === format)
  return known && sha256 ? { format: known, sha256, sizeBytes: Number(size) } : null
}

/** The name of an object in findings and messages. */
export const objectName = (object: Pick<LinkedObject, 'format' | 'sha256'>): string => `${OBJECT}${objectKey(object)}`

/** The package object that a finding names; null when it names a path. */
export const objectOf = (name: string) => (name.startsWith(OBJECT) ? parseKey(name.slice(OBJECT.length)) : null)

/** Reads the key of a package; null for any other object. */
export function parseKey(key: string): Pick<LinkedObject, 'format' | 'sha256'> | null {
  return parseLinkTarget(`${OBJECT}${key}/0`)
}
