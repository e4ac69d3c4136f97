// What an archive states about itself: its format in the first entry, and in the last one a list of everything that it contains.
//
// The list has a line of JSON for each earlier entry, in their order, and a last line with the totals. It is never completely in
// memory: it is written beside the archive while the archive is made, and verification compares one running digest. A line takes
// about 300 bytes, so a million packages with their manifests take 600 MB of BACKUP_DIR while the backup is made.
import { createHash } from 'node:crypto'
import Type, { type Static } from 'typebox'
import { Check } from 'typebox/value'
import { Problem } from '../../domain/problem.ts'
import { createFile } from '../../kernel/files.ts'

/** Name of the first entry. */
export const ABOUT = 'archive.json'
/** Name of the last entry. */
export const LIST = 'contents.ndjson'
export const LIST_MODE = 0o600
/** Raise it when an older build cannot restore the new format. */
export const FORMAT = 1

const AboutSchema = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  /** version of the service that wrote it */
  service: Type.String(),
  created_at: Type.String(),
  /** the top directory */
  name: Type.String(),
})
export type About = Static<typeof AboutSchema>

const TotalsSchema = Type.Object({
  /** lines before this one */
  entries: Type.Integer({ minimum: 0 }),
  /** package files in the archive, and those that it lacks */
  packages: Type.Integer({ minimum: 0 }),
  missing: Type.Integer({ minimum: 0 }),
  /** rows of each table in the dump */
  rows: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
})
export type Totals = Static<typeof TotalsSchema>

/** An entry in the list. */
export interface Listed {
  name: string
  type: 'file' | 'directory'
  mode: number
  sizeBytes: number
  /** null for a directory */
  sha256: string | null
}

/** Written and compared byte by byte, so the order of the keys is part of the format. */
const lineOf = ({ name, type, mode, sizeBytes, sha256 }: Listed): string =>
  `${JSON.stringify({ name, type, mode: mode.toString(8), size: sizeBytes, sha256 })}\n`

export interface ListWriter {
  add(entry: Listed): Promise<void>
  /** Writes the last line, and closes the file. */
  finish(totals: Omit<Totals, 'entries'>): Promise<void>
  close(): Promise<void>
}

const BATCH_CHARACTERS = 64 * 1024

/** @param path of a new file for the list */
export async function createListWriter(path: string): Promise<ListWriter> {
  const file = await createFile(path, 0o600)
  let open = true
  let waiting = ''
  let entries = 0
  const flush = async () => {
    await file.write(Buffer.from(waiting))
    waiting = ''
  }
  const close = async () => {
    if (!open) return
    open = false
    await file.close()
  }
  return {
    async add(entry) {
      entries++
      waiting += lineOf(entry)
      if (waiting.length >= BATCH_CHARACTERS) await flush()
    },
    async finish(totals) {
      waiting += `${JSON.stringify({ entries, ...totals } satisfies Totals)}\n`
      await flush()
      await close()
    },
    close,
  }
}

/** Follows the entries of an archive while it is read, and compares them with its list. */
export interface ListReader {
  add(entry: Listed): void
  /**
   * Reads the list.
   * @returns its last line
   * @throws Problem('validation_error') when the list differs from the added entries
   */
  compare(content: AsyncIterable<Uint8Array>): Promise<Totals>
}

/** One line of the list: a name takes at most 32 KiB (formats/archive/tar.ts). */
const LONGEST_LINE = 256 * 1024
const NEWLINE = 10

export function createListReader(): ListReader {
  const found = createHash('sha256')
  let entries = 0
  return {
    add(entry) {
      entries++
      found.update(lineOf(entry))
    },
    async compare(content) {
      const listed = createHash('sha256')
      let last: Uint8Array = Buffer.alloc(0)
      for await (const piece of content) {
        // Keeps the bytes after the last but one newline, which may be the last line; the bytes before are not part of it.
        const kept = last.length === 0 ? piece : Buffer.concat([last, piece])
        const end = kept.subarray(0, -1).lastIndexOf(NEWLINE) + 1
        listed.update(kept.subarray(0, end))
        last = Buffer.from(kept.subarray(end))
        if (last.length > LONGEST_LINE) throw unreadable()
      }
      const totals = parse(TotalsSchema, Buffer.from(last).toString('utf8'))
      if (last.at(-1) !== NEWLINE || totals.entries !== entries || found.digest('hex') !== listed.digest('hex'))
        throw new Problem(
          'validation_error',
          'the archive has other entries than its list says: it was damaged or changed',
        )
      return totals
    },
  }
}

const LONGEST_ABOUT = 4096

/**
 * @param top the directory that contains it
 * @throws Problem('validation_error') also for a format of a newer build
 */
export async function readAbout(content: AsyncIterable<Uint8Array>, top: string): Promise<About> {
  let text = ''
  for await (const piece of content) {
    text += Buffer.from(piece).toString('latin1')
    if (text.length > LONGEST_ABOUT) throw unreadable()
  }
  const about = parse(AboutSchema, text)
  if (about.format > FORMAT)
    throw new Problem(
      'validation_error',
      `the archive has format ${about.format}, of service ${about.service}; this build reads up to ${FORMAT}`,
    )
  if (about.name !== top)
    throw new Problem('validation_error', `the archive says that it is ${JSON.stringify(about.name)}, not ${top}`)
  return about
}

function parse<T extends typeof AboutSchema | typeof TotalsSchema>(schema: T, text: string): Static<T> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw unreadable()
  }
  if (!Check(schema, value)) throw unreadable()
  return value
}

const unreadable = () => new Problem('validation_error', 'what the archive says of itself cannot be read')
