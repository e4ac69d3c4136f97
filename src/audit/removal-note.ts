// The signed note that replaces the removed beginning of the audit chain.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing } from '../kernel/files.ts'

/** Beside the files of the remaining days. */
export const REMOVAL_NOTE = 'removed.checkpoint'

export interface RemovalNote {
  at: string
  /** entries of this day and of earlier ones are removed */
  day: string
  /** the last removed entry; also the number of removed entries */
  seq: number
  hash: string
  /** SHA-256 of the last removed line of the checkpoint files */
  previous: string
  /** OpenPGP signature, base64, over `signedRemoval` */
  signature: string
}

/** The text that the signature covers. Its beginning differs from a checkpoint's, so that a checkpoint cannot pass as a note. */
export function signedRemoval({ signature: _, ...covered }: RemovalNote): string {
  return `gatehouse audit removal\n${JSON.stringify(covered)}\n`
}

/**
 * @param isSigned whether an OpenPGP signature of the repository's key covers the text
 * @returns the note; null when there is none, 'forged' when this service did not write it in this form
 */
export async function readRemovalNote(
  directory: string,
  isSigned: (text: string, signature: Uint8Array) => Promise<boolean>,
): Promise<RemovalNote | 'forged' | null> {
  const text = await readFile(join(directory, REMOVAL_NOTE), 'utf8').catch(ifMissing(null))
  if (text === null) return null
  const note = noteOf(text)
  const isGenuine = note !== null && (await isSigned(signedRemoval(note), Buffer.from(note.signature, 'base64')))
  return isGenuine ? note : 'forged'
}

/** Reads a note without checking its signature; null for text of another form. */
export function noteOf(text: string): RemovalNote | null {
  try {
    const note = JSON.parse(text) as RemovalNote | null
    const isOurs =
      typeof note?.signature === 'string' &&
      Number.isSafeInteger(note.seq) &&
      [note.day, note.hash, note.previous].every((field) => typeof field === 'string')
    return isOurs && `${JSON.stringify(note)}\n` === text ? note : null
  } catch {
    return null
  }
}
