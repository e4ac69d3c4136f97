// The facts of a file as its row stores them: JSON text, and the compressed file list.
import { Readable } from 'node:stream'
import { createGunzip, gunzipSync, gzipSync } from 'node:zlib'
import type { PackageFacts } from './package.ts'

export interface PackedFacts {
  /** JSON of the facts, with an empty file list */
  facts: string
  /** gzip of the file list, one path a line: 100,000 paths are 6 MB as JSON and 0.4 MB here */
  files: Uint8Array
}

/** Packing the facts of the largest package takes 200 ms, so readers do it. */
const packed = new WeakMap<PackageFacts, PackedFacts>()

export function packFacts(facts: PackageFacts): PackedFacts {
  return (
    packed.get(facts) ?? { facts: JSON.stringify({ ...facts, files: [] }), files: gzipSync(facts.files.join('\n')) }
  )
}

/** Notes what `packFacts` returns for these facts, which never change. */
export function notePacked(facts: PackageFacts, asPacked: PackedFacts): void {
  packed.set(facts, asPacked)
}

/** The characters of the file list and, if the facts were packed, of the rest. */
export function factsCharacters(facts: PackageFacts): number {
  let count = packed.get(facts)?.facts.length ?? 0
  for (const { length } of facts.files) count += length
  return count
}

export function unpackFacts(blob: { facts: PackageFacts | string; files: Uint8Array }): PackageFacts {
  const facts = typeof blob.facts === 'string' ? (JSON.parse(blob.facts) as PackageFacts) : blob.facts
  return { ...facts, files: unpackFiles(blob.files) }
}

/** The paths of a stored file's list, some at a time. A list may have 1,000,000 lines; the event loop is never held. */
async function* linesOf(files: Uint8Array): AsyncGenerator<string[]> {
  let rest = ''
  for await (const piece of Readable.from([files]).pipe(createGunzip()).setEncoding('utf8')) {
    const lines = (rest + String(piece)).split('\n')
    rest = lines.pop() ?? ''
    yield lines
  }
  if (rest !== '') yield [rest]
}

/** Which of the wanted paths a stored file's list has. */
export async function filesAmong(files: Uint8Array, wanted: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = []
  for await (const lines of linesOf(files)) for (const line of lines) if (wanted.has(line)) found.push(line)
  return found
}

/** Some paths of a stored file's list. @param at.q part of the path, in any case @returns `total`: how many paths contain `q` */
export async function filesPage(
  files: Uint8Array,
  at: { q?: string | undefined; skip: number; limit: number },
): Promise<{ paths: string[]; total: number }> {
  const part = at.q?.toLowerCase()
  const paths: string[] = []
  let total = 0
  for await (const lines of linesOf(files)) {
    for (const line of lines) {
      if (part !== undefined && !line.toLowerCase().includes(part)) continue
      if (total >= at.skip && paths.length < at.limit) paths.push(line)
      total++
    }
  }
  return { paths, total }
}

/** The paths of a stored file's list. */
export function unpackFiles(files: Uint8Array): string[] {
  const text = gunzipSync(files).toString('utf8')
  return text === '' ? [] : text.split('\n')
}
