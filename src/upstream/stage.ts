// Fetches one file to the disk: hashed on the way, continued after an interruption, and kept only if it matches its listing.
import { createHash, type Hash } from 'node:crypto'
import { ftruncate, writeSync, write } from 'node:fs'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Digests } from '../domain/package.ts'
import { isProblem } from '../domain/problem.ts'
import { refused, type FileDigest, type StagedFile } from '../formats/catalog.ts'
import { createDigests, type DigestStream } from '../kernel/digests.ts'
import { closeName, openName } from '../kernel/names.ts'
import { isRemote } from '../kernel/remote.ts'
import { mismatch, problemOf } from './problems.ts'
import { Interrupted, type Transport, type Validator } from './transport.ts'

export interface Wanted {
  path: string
  /** the exact size, where it is listed */
  sizeBytes: number | null
  /** a larger file is refused while it arrives */
  mostBytes: number
  digest: FileDigest | null
  known?: Validator
}

export interface Fetched extends StagedFile {
  digests: Digests
  validator: Validator
}

const writeLater = promisify(write)
const truncateLater = promisify(ftruncate)
/** Smaller files on a local disk are written synchronously, into the page cache: the thread pool takes longer. */
const WRITTEN_NOW = 64 * 1024

/** Waits between tries, in total half a minute; if the upstream still fails then, it is reported. */
const DELAYS_MS = [500, 1000, 2000, 4000, 8000, 15_000]
const LONGEST_DELAY_MS = 30_000

interface Opened {
  descriptor: number
  /** up to this many bytes are written synchronously */
  writtenNow: number
}

/** The state of the file on the disk so far. */
interface Part {
  bytes: number
  validator: Validator | null
  digests: DigestStream
  /** hash of an algorithm that `digests` does not have */
  listed: Hash | null
}

/**
 * @param to a new file; removed again when the transfer fails
 * @param wait resolves after a number of milliseconds
 * @throws Problem('upstream_error') when the upstream fails for longer than half a minute or sends too much,
 *   'checksum_mismatch' when the content differs from the listing, 'forbidden_target', 'storage_full'
 */
export async function stage(
  transport: Transport,
  wanted: Wanted,
  to: string,
  wait: (ms: number) => Promise<void>,
): Promise<Fetched | 'missing' | 'unchanged'> {
  const file: Opened = { descriptor: await openName(to, 'wx', 0o600), writtenNow: isRemote(to) ? 0 : WRITTEN_NOW }
  let isKept = false
  try {
    const part = emptyPart(wanted)
    for (let tries = 0; ;) {
      try {
        const state = await transfer(transport, wanted, file, part)
        if (state !== 'whole') return state
        break
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error
        const delay = DELAYS_MS[tries]
        tries += error.tries
        if (delay === undefined || (error.retryAfterMs ?? 0) > LONGEST_DELAY_MS) throw error.cause
        await wait(Math.max(delay, error.retryAfterMs ?? 0))
      }
    }
    const digests = verify(transport, wanted, part)
    isKept = true
    const validator = part.validator ?? { etag: null, lastModified: null }
    return { path: to, sizeBytes: part.bytes, sha256: digests.sha256, digests, validator }
  } catch (error) {
    const isTooLong = isProblem(error, 'upstream_error') && error.extra['reason'] === 'too_large'
    throw isTooLong ? tooLong(transport, wanted) : problemOf(error)
  } finally {
    await closeName(file.descriptor, to)
    if (!isKept) await rm(to, { force: true })
  }
}

function emptyPart({ digest }: Wanted): Part {
  return {
    bytes: 0,
    validator: null,
    digests: createDigests(),
    listed: digest?.algorithm === 'sha384' ? createHash(digest.algorithm) : null,
  }
}

async function transfer(
  transport: Transport,
  wanted: Wanted,
  file: Opened,
  part: Part,
): Promise<'whole' | 'missing' | 'unchanged'> {
  const { path, mostBytes, known } = wanted
  const resume = part.bytes > 0 && part.validator ? { at: part.bytes, validator: part.validator } : undefined
  const found = await transport.open(path, { mostBytes, ...(known ? { known } : {}), ...(resume ? { resume } : {}) })
  if (typeof found === 'string') return found
  if (found.startsAt === 0 && part.bytes > 0) {
    Object.assign(part, emptyPart(wanted))
    await truncateLater(file.descriptor, 0)
  }
  part.validator = found.validator
  for await (const piece of found.body) {
    if (part.bytes + piece.length > mostBytes) throw tooLong(transport, wanted)
    await writeAt(file, piece, part.bytes)
    part.bytes += piece.length
    part.digests.update(piece)
    part.listed?.update(piece)
  }
  return 'whole'
}

async function writeAt({ descriptor: file, writtenNow }: Opened, piece: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < piece.length;) {
    const [length, at] = [piece.length - done, position + done]
    done +=
      at + length <= writtenNow
        ? writeSync(file, piece, done, length, at)
        : (await writeLater(file, piece, done, length, at)).bytesWritten
  }
}

function tooLong({ name }: Transport, { path, sizeBytes, mostBytes }: Wanted): Error {
  return sizeBytes === null
    ? refused('too_large', `${path} of ${name} has more than ${mostBytes} bytes`)
    : mismatch(`${path} of ${name} has more than the ${sizeBytes} bytes listed`)
}

/** @returns the digests of the whole */
function verify({ name }: Transport, { path, sizeBytes, digest }: Wanted, part: Part): Digests {
  if (sizeBytes !== null && part.bytes !== sizeBytes)
    throw mismatch(`${path} of ${name} has ${part.bytes} bytes; ${sizeBytes} are listed`)
  const digests = part.digests.hex()
  if (!digest) return digests
  const found = digest.algorithm === 'sha384' ? part.listed?.digest('hex') : digests[digest.algorithm]
  if (digest.hex !== found)
    throw mismatch(`${path} of ${name} has the ${digest.algorithm} ${found ?? ''}; ${digest.hex} is listed`)
  return digests
}
