// How a stored file's facts lie in the table: JSON without the file list, and the list compressed beside it.
import { gunzipSync, gzipSync } from 'node:zlib'
import type { PackageFacts } from '../domain/package.ts'

/** A list of 100,000 paths is 6 MB as JSON and 0.4 MB so. */
export function packFacts(facts: PackageFacts): { facts: string; files: Uint8Array } {
  return { facts: JSON.stringify({ ...facts, files: [] }), files: gzipSync(facts.files.join('\n')) }
}

export function unpackFacts(blob: { facts: PackageFacts; files: Uint8Array }): PackageFacts {
  const text = gunzipSync(blob.files).toString('utf8')
  return { ...blob.facts, files: text === '' ? [] : text.split('\n') }
}
