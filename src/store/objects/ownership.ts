// Ties an installation to its object store: a file in REPOS_DIR and an object hold the same note.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { fsyncPath, isMissing, linkFile, removeFile, replaceFile, writeDurably } from '../../kernel/files.ts'
import { entriesBelow } from '../../kernel/files-below.ts'
import { StartError } from '../../kernel/start-error.ts'
import type { Paths } from '../paths.ts'
import { StorageUnavailable, type ObjectStore } from './object-store.ts'

interface Note {
  /** id of the installation */
  id: string
  /** address of its store; when a store was moved with all its objects, the file is updated */
  store: string
}

/** Name of the object. Names of package objects have a slash, so it is none of them. */
const OBJECT = 'installation'
/** It is no secret, and a process that only serves may run as another user. */
const MODE = 0o644
const MOST_BYTES = 10_000
const MOVE = 'packages move only with a backup that is restored into an empty system with another POOL_URL'

/**
 * Claims the store for this installation at its first start, and checks at every later start that the store belongs to it.
 * @param store null while packages are kept on the disk
 * @throws StartError when the packages are elsewhere, or when the store belongs to another installation
 */
export async function claimStore(paths: Paths, store: ObjectStore | null): Promise<void> {
  const own = await readNote(paths.poolNote)
  if (own || !store) {
    await checkStore(paths, store)
    // The objects were moved by other means.
    if (own && store && own.store !== store.address)
      await replaceFile(paths.poolNote, JSON.stringify({ ...own, store: store.address }), MODE)
    return
  }
  if (await hasFiles(paths.pool))
    throw new StartError(
      `POOL_URL names ${store.name}, but this installation keeps its packages in ${paths.pool}: ${MOVE}`,
    )
  // In this order the next start can continue after a crash. Replicas that start together share the claim.
  const claim = `${paths.poolNote}.claim`
  const note = await claimed(claim, store)
  try {
    const before = await noteIn(store)
    if (!before) await putNote(store, note, claim)
    if ((before ?? (await noteIn(store)))?.id !== note.id) {
      await removeFile(claim)
      // Another replica has claimed it since.
      if (await readNote(paths.poolNote)) {
        await checkStore(paths, store)
        return
      }
      throw new StartError(
        `POOL_URL: ${store.name} belongs to another installation: choose another prefix, or delete its object "${OBJECT}" when that installation is gone`,
      )
    }
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    throw new StartError(`POOL_URL: ${error.detail}, which the first start with it needs`)
  }
  try {
    await linkFile(claim, paths.poolNote)
    await removeFile(claim)
  } catch (error) {
    // Another replica was faster.
    if (!isMissing(error)) throw error
  }
  await fsyncPath(dirname(paths.poolNote))
}

/**
 * Checks that the store belongs to this installation; also for processes that may not write. A store that does not
 * answer is accepted when its address has not changed.
 * @throws StartError
 */
export async function checkStore(paths: Paths, store: ObjectStore | null): Promise<void> {
  const own = await readNote(paths.poolNote)
  if (!own) return
  if (!store) throw new StartError(`POOL_URL must name ${own.store}, where this installation keeps its packages`)
  const theirs = await noteIn(store).catch((error: unknown) => {
    if (error instanceof StorageUnavailable && store.address === own.store) return own
    if (!(error instanceof StorageUnavailable)) throw error
    throw new StartError(`POOL_URL: ${error.detail}, and its address is not the one of before, ${own.store}`)
  })
  if (theirs?.id !== own.id)
    throw new StartError(
      `POOL_URL names ${store.address}, but this installation keeps its packages in ${own.store}: ${MOVE}`,
    )
}

async function claimed(path: string, store: ObjectStore): Promise<Note> {
  const before = await readNote(path)
  if (before?.store === store.address) return before
  // The claim of an interrupted start with another address.
  if (before) await removeFile(path)
  const note: Note = { id: randomUUID(), store: store.address }
  await withFile(note, path, async (temporary) => {
    await linkFile(temporary, path)
    await fsyncPath(dirname(path))
  })
  return (await readNote(path)) ?? note
}

/** Uses a separate file, because a replica that ends its claim meanwhile removes the file that both share. */
async function putNote(store: ObjectStore, note: Note, claim: string): Promise<void> {
  const sha256 = createHash('sha256').update(JSON.stringify(note)).digest('hex')
  await withFile(note, claim, (temporary) => store.put(OBJECT, temporary, sha256))
}

/** Keeps a note in a separate temporary file while `use` runs. @param beside the first part of the name */
async function withFile(note: Note, beside: string, use: (path: string) => Promise<void>): Promise<void> {
  const temporary = `${beside}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await writeDurably(temporary, JSON.stringify(note), MODE)
    await use(temporary)
  } finally {
    await removeFile(temporary)
  }
}

async function noteIn(store: ObjectStore): Promise<Note | null> {
  const object = await store.get(OBJECT)
  if (!object) return null
  if (object.sizeBytes <= MOST_BYTES)
    return parsed(await text(object.stream), `the object "${OBJECT}" of ${store.name}`)
  object.stream.destroy()
  return parsed('', `the object "${OBJECT}" of ${store.name}`)
}

async function readNote(path: string): Promise<Note | null> {
  try {
    return parsed(await readFile(path, 'utf8'), path)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

function parsed(content: string, name: string): Note {
  try {
    const { id, store } = JSON.parse(content) as Note
    if (typeof id === 'string' && typeof store === 'string') return { id, store }
  } catch {
    // Reported below.
  }
  throw new StartError(`POOL_URL: ${name} cannot be read as the note of an installation`)
}

/** Whether there is any file below a directory. */
async function hasFiles(directory: string): Promise<boolean> {
  for await (const _ of entriesBelow(directory)) return true
  return false
}
