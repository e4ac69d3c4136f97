// An object store in memory, for tests of its users. test/pool uses a real server.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ObjectStore } from './object-store.ts'

export interface MemoryStore extends ObjectStore {
  objects: Map<string, Buffer>
}

/** @param pageSize objects in one page of a list */
export function createMemoryStore(pageSize = 2): MemoryStore {
  const objects = new Map<string, Buffer>()
  return {
    objects,
    name: 's3://memory',
    address: 's3://memory?region=test',
    async put(key, path, sha256) {
      const bytes = await readFile(path)
      if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw new Error('another SHA-256')
      objects.set(key, bytes)
    },
    get: async (key, range) => {
      const bytes = objects.get(key)
      if (!bytes) return null
      const part = range ? bytes.subarray(range.first, range.last + 1) : bytes
      return { sizeBytes: part.length, modifiedAt: new Date(0), stream: Readable.from([part]) }
    },
    size: async (key) => objects.get(key)?.length ?? null,
    async list(prefix, after) {
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
      const page = keys.slice(0, pageSize).map((key) => ({ key, sizeBytes: objects.get(key)!.length }))
      return { objects: page, isLast: keys.length <= pageSize }
    },
    remove: async (key) => void objects.delete(key),
    signedUrl: async (key) => `memory:${key}`,
    check: async () => {},
    close: () => {},
  }
}
