// Package files that were missing when a backup was made: named in the archive and beside it, so that it never looks complete.
import Type, { type Static } from 'typebox'
import { Check } from 'typebox/value'
import { ECOSYSTEMS } from '../../formats/index.ts'
import { Problem } from '../../domain/problem.ts'

const MissingFileSchema = Type.Object({
  format: Type.Enum(ECOSYSTEMS),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  filename: Type.String(),
})
export type MissingFile = Static<typeof MissingFileSchema>
const ListSchema = Type.Object({ missing: Type.Array(MissingFileSchema) })

/** If more are missing, the disk of the pool is probably not mounted, and an archive without packages helps nobody. */
export const MOST_MISSING = 1000
/** Most files that answers and audit entries name; they state the total. */
const SHOWN = 20
/** A list of `MOST_MISSING` files takes a tenth of this. */
const MOST_BYTES = 4_000_000

export const textOfMissing = (missing: readonly MissingFile[]): string => JSON.stringify({ missing })

/** @throws Problem('validation_error') */
export async function readMissing(content: AsyncIterable<Uint8Array>): Promise<MissingFile[]> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of content) {
    length += piece.length
    if (length > MOST_BYTES) throw unreadable()
    pieces.push(piece)
  }
  return parseMissing(Buffer.concat(pieces).toString('utf8'))
}

/** @throws Problem('validation_error') */
export function parseMissing(text: string): MissingFile[] {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    throw unreadable()
  }
  if (!Check(ListSchema, list)) throw unreadable()
  return list.missing
}

const unreadable = () => new Problem('validation_error', 'the list of missing files cannot be read')

/** The form for answers and audit entries. */
export const shownMissing = (missing: readonly MissingFile[]) => ({
  missing: missing.length,
  missing_files: missing.slice(0, SHOWN).map(({ sha256, filename }) => ({ filename, sha256 })),
})
