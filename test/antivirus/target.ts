// Package files for antivirus tests: any raw content with any members, in the form that formats return.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expandMembers } from '../../src/gate/engines/nested/expand.ts'
import type { ScanMember, ScanTarget } from '../../src/gate/engines/scanner.ts'
import { createLocalFile } from './local-file.ts'

export type Files = Record<string, Buffer | string>

/** Yields content in pieces of `size` bytes, like a decompressor. */
export async function* inPieces(content: Buffer, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

/** Writes `sample.deb` with that raw content; its members are `files`, independent of the raw content. */
export async function createTarget(
  directory: string,
  files: Files,
  raw: Buffer | string = 'raw bytes',
): Promise<ScanTarget> {
  const path = join(directory, 'sample.deb')
  await writeFile(path, raw)
  async function* members(): AsyncGenerator<ScanMember> {
    for (const [name, text] of Object.entries(files)) {
      const content = Buffer.from(text)
      yield { name, sizeBytes: content.length, content: inPieces(content) }
    }
  }
  return { path, filename: 'sample.deb', sizeBytes: Buffer.byteLength(raw), contents: opened(directory, members) }
}

/** The answer of a reader for a package with these members. */
export function opened(directory: string, members: () => AsyncIterable<ScanMember>): ScanTarget['contents'] {
  return (limits, skip) =>
    expandMembers(members, {
      ...limits,
      createFile: () => createLocalFile(directory),
      skip: async (name, reason) => skip(name, reason),
    })
}

export function manyFiles(count: number): Files {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`usr/share/f${n}`, `text of file ${n}`]))
}
