// Package bytes in an object store. Quarantine stays on this machine's disk, so no signed address can ever lead to refused bytes.
import { createHash, randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { fsyncPath, isMissing, removeFile } from '../../kernel/files.ts'
import { lstatName, readLink, renameName, symlinkName } from '../../kernel/names.ts'
import { linkTarget, objectKey, objectName, type ObjectStore } from '../objects/object-store.ts'
import type { FileId, LocalPool, Area, Pool, StoredBytes } from './pool.ts'

/** The mode of files in the local pool. */
const MODE = 0o644

/**
 * @param local holds the quarantined bytes
 * @param newPath a new path for a copy that this process removes, also after a crash
 */
export function createObjectPool(deps: { store: ObjectStore; local: LocalPool; newPath(): string }): Pool {
  const { store, local, newPath } = deps
  const has = async (file: FileId) => (await store.size(objectKey(file))) !== null

  /** An object is complete as soon as it exists, so one of the right size needs no second upload. */
  async function upload(path: string, file: FileId): Promise<void> {
    const key = objectKey(file)
    if ((await store.size(key)) === (await stat(path)).size) return
    await store.put(key, path, file.sha256)
  }

  /** @returns the SHA-256 of the bytes; null when the store does not have the object */
  async function download(file: FileId, path: string): Promise<string | null> {
    const object = await store.get(objectKey(file))
    if (!object) return null
    const hash = createHash('sha256')
    try {
      await pipeline(
        object.stream,
        async function* (pieces: AsyncIterable<Buffer>) {
          for await (const piece of pieces) {
            hash.update(piece)
            yield piece
          }
        },
        createWriteStream(path, { flags: 'wx', mode: 0o600 }),
      )
      return hash.digest('hex')
    } catch (error) {
      await removeFile(path)
      throw error
    }
  }

  /** @throws when the bytes of the object do not match its name: no caller gets them */
  async function copyTo(file: FileId, path: string): Promise<boolean> {
    const sha256 = await download(file, path)
    if (sha256 === null) return local.copyTo(file, path)
    if (sha256 === file.sha256) return true
    await removeFile(path)
    throw new Error(`the object ${objectKey(file)} of ${store.name} has other bytes than its name says`)
  }

  /** Also moves damaged bytes, as in a local pool: they must leave the store, and nothing moves them back from quarantine. */
  async function intoQuarantine(file: FileId): Promise<boolean> {
    if (await local.hasQuarantined(file)) return true
    const path = newPath()
    if ((await download(file, path)) === null) return false
    try {
      await fsyncPath(path)
      await local.quarantine(path, file)
      return true
    } finally {
      await removeFile(path)
    }
  }

  async function intoStore(file: FileId): Promise<boolean> {
    if (await has(file)) return true
    if (!(await local.hasQuarantined(file))) return false
    await upload(local.quarantinePath(file), file)
    return true
  }

  return {
    hold: (staged, file, place) =>
      place === 'quarantine' ? local.hold(staged, file, place) : { ensure: () => upload(staged, file) },
    keep: upload,
    quarantine: local.quarantine,
    has,
    hasQuarantined: local.hasQuarantined,
    carry: (file, to) => (to === 'pool' ? intoStore(file) : intoQuarantine(file)),
    copyTo,
    async withFile(file, work) {
      const path = newPath()
      if (!(await copyTo(file, path))) return null
      try {
        return await work(path)
      } finally {
        await removeFile(path)
      }
    },
    async open(file, place): Promise<StoredBytes | null> {
      if (place === 'quarantine') return local.open(file, place)
      const object = await store.get(objectKey(file))
      if (!object) return null
      const { sizeBytes, modifiedAt, stream } = object
      return { sizeBytes, modifiedAt, mode: MODE, stream: () => stream, close: async () => void stream.destroy() }
    },
    async publish(file, target) {
      const present = await targetOf(target)
      if (present?.startsWith(`${objectName(file)}/`)) return false
      const sizeBytes = await store.size(objectKey(file))
      // Fails like a link to a missing file: the publisher then checks whether the package was deleted meanwhile.
      if (sizeBytes === null)
        throw Object.assign(new Error(`the object ${objectKey(file)} is missing in ${store.name}`), { code: 'ENOENT' })
      const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`
      await symlinkName(linkTarget({ ...file, sizeBytes }), temporary)
      await renameName(temporary, target)
      return true
    },
    async published({ sizeBytes, ...file }, target) {
      const linked = await targetOf(target)
      if (linked === linkTarget({ ...file, sizeBytes })) return 'these'
      return linked === null && !(await isPresent(target)) ? 'nothing' : 'others'
    },
    replace: (from, file, to) =>
      to === 'quarantine' ? local.replace(from, file, to) : store.put(objectKey(file), from, file.sha256),
    leave: (place: Area, file) => (place === 'quarantine' ? local.leave(place, file) : store.remove(objectKey(file))),
    async forgetAll(format, sha256) {
      await store.remove(objectKey({ format, sha256 }))
      await local.forgetAll(format, sha256)
    },
  }
}

async function isPresent(path: string): Promise<boolean> {
  try {
    return (await lstatName(path)) !== undefined
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** The target of a link; null for a file or a missing path. */
async function targetOf(path: string): Promise<string | null> {
  try {
    return await readLink(path)
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'EINVAL') return null
    throw error
  }
}
