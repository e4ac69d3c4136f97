// Reads all of a backup archive and compares it with its own list: an archive proves that it is complete, or is refused.
import { createHash } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { Problem } from '../../domain/problem.ts'
import { readMissing, type MissingFile } from './missing.ts'
import { ABOUT, createListReader, LIST, LIST_MODE, readAbout, type About, type Totals } from './proof.ts'
import { digestIn, DUMP, foreign, MISSING, readArchive, SETTINGS, shown, type ArchiveEntry } from './read-archive.ts'

export interface Verified {
  /** number of entries without the list itself */
  entries: number
  packages: number
  /** package files that the archive lacks according to its list */
  missing: MissingFile[]
  /** the settings file; empty when there is none */
  settings: string
  /** null for an archive of a build that wrote no list: nobody can tell whether it is complete */
  proof: (About & Totals) | null
}

/**
 * @throws Problem('validation_error') when it is damaged, truncated or differs from its list; when it lacks the dump,
 *   or when a package file's bytes do not match the digest in its name
 */
export async function verifyArchive(path: string): Promise<Verified> {
  const list = createListReader()
  const single = new Set<string>()
  const found: Verified = { entries: 0, packages: 0, missing: [], settings: '', proof: null }
  let about: About | null = null
  let totals: Totals | null = null
  for await (const entry of readArchive(path)) {
    const { name, top } = entry
    if (totals) throw foreign('something follows its list')
    if (single.has(name)) throw foreign(`it has ${name} twice`)
    if (!name.includes('/')) single.add(name)
    if (name === ABOUT && found.entries > 0) throw foreign(`${name} is not its first entry`)
    if (name === LIST) {
      if (!about) throw foreign(`it has a list of its entries, but no ${ABOUT}`)
      if (entry.mode !== LIST_MODE) throw foreign(`${name} has another mode`)
      totals = await list.compare(entry.content)
      continue
    }
    const hashed = hashing(entry.content)
    if (name === ABOUT) about = await readAbout(hashed.content, top)
    else if (name === MISSING) found.missing = await readMissing(hashed.content)
    else if (name === SETTINGS) found.settings = await readSettings(entry.sizeBytes, hashed.content)
    const sha256 = await hashed.rest()
    found.entries++
    if (isPackage(entry, sha256)) found.packages++
    const { type, mode, sizeBytes } = entry
    list.add({ name, type, mode, sizeBytes, sha256: type === 'file' ? sha256 : null })
  }
  if (about && !totals) throw new Problem('validation_error', 'the archive is truncated: it has no list of its entries')
  if (!single.has(DUMP)) throw foreign(`it has no ${DUMP}`)
  if (totals && (totals.packages !== found.packages || totals.missing !== found.missing.length))
    throw foreign('it has other packages than its list counts')
  return { ...found, proof: about && totals && { ...about, ...totals } }
}

/** @throws Problem('validation_error') when the bytes do not match the digest in the name */
function isPackage({ name, type }: ArchiveEntry, sha256: string): boolean {
  if (type === 'directory') return false
  const expected = digestIn(name)
  if (name.startsWith('pool/') && !expected) throw foreign(`it has an entry ${shown(name)}`)
  if (expected && sha256 !== expected)
    throw new Problem('validation_error', `the archive is damaged: ${shown(name)} has other bytes than its name says`)
  return expected !== null
}

/** Far above what the service writes. */
const MOST_SETTINGS_BYTES = 16 * 1024 * 1024

async function readSettings(sizeBytes: number, content: AsyncIterable<Uint8Array>): Promise<string> {
  if (sizeBytes > MOST_SETTINGS_BYTES) throw foreign(`its ${SETTINGS} is too large`)
  return text(content)
}

/** @returns the content, and a function that reads the rest of it and returns the digest of everything */
function hashing(source: AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256')
  const content = (async function* () {
    for await (const piece of source) {
      hash.update(piece)
      yield piece
    }
  })()
  return {
    content,
    async rest(): Promise<string> {
      for await (const _ of content);
      return hash.digest('hex')
    },
  }
}
