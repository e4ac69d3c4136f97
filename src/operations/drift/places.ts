// Where the scan reads stored files: the pool on the disk or in an object store, and the quarantine on the disk.
import { join, relative } from 'node:path'
import { ifMissing } from '../../kernel/files.ts'
import type { LocalPool, Area } from '../../store/files/pool.ts'
import { objectKey, objectName, objectOf, type ObjectStore } from '../../store/objects/object-store.ts'
import type { Paths } from '../../store/paths.ts'
import type { Hashing } from './hashing.ts'
import type { Need } from './needs.ts'
import { sizeOf } from './reading.ts'

export interface PlacesDeps {
  paths: Paths
  /** on the disk: paths in quarantine, and in the pool unless there is a store */
  local: Pick<LocalPool, 'path' | 'quarantinePath'>
  /** null while the pool is on the disk */
  store: ObjectStore | null
  hashing: Hashing
}

export interface StoredPlace {
  /** The name of a stored file in findings. */
  subjectOf(need: Pick<Need, 'format' | 'sha256' | 'filename'>): string
  /** in bytes; null when it is missing */
  sizeOf(subject: string): Promise<number | null>
  /** SHA-256 at a bounded rate; null when it is missing */
  digest(subject: string, signal?: AbortSignal): Promise<string | null>
}

export function placesOf({ paths, local, store, hashing }: PlacesDeps): Record<Area, StoredPlace> {
  const onDisk = (pathOf: (need: Parameters<StoredPlace['subjectOf']>[0]) => string): StoredPlace => ({
    subjectOf: (need) => relative(paths.root, pathOf(need)),
    sizeOf: async (subject) => sizeOf(join(paths.root, subject)),
    async digest(subject, signal) {
      const found = await hashing.digest(join(paths.root, subject), signal).catch(ifMissing(null))
      return found && found.sha256
    },
  })
  return {
    pool: store ? inStore(store, hashing) : onDisk((need) => local.path(need)),
    quarantine: onDisk((need) => local.quarantinePath(need)),
  }
}

/** Each object takes one request: for 1,000,000 packages, 16 at a time and 10 ms each, ten minutes. */
function inStore(store: ObjectStore, hashing: Hashing): StoredPlace {
  const keyOf = (subject: string) => {
    const object = objectOf(subject)
    return object && objectKey(object)
  }
  return {
    subjectOf: objectName,
    async sizeOf(subject) {
      const key = keyOf(subject)
      return key === null ? null : store.size(key)
    },
    async digest(subject, signal) {
      const key = keyOf(subject)
      const object = key === null ? null : await store.get(key)
      if (!object) return null
      try {
        return (await hashing.digestOf(object.stream, signal)).sha256
      } finally {
        object.stream.destroy()
      }
    },
  }
}
