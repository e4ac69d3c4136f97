// The file RECORD of a wheel: each file with its digest. Installers differ in whether they check it, so it must be true.
import { createHash } from 'node:crypto'
import { invalid } from '../archive/limits.ts'
import type { ZipEntry } from '../archive/zip.ts'
import { quote } from '../bounds.ts'

/** Signatures are made after RECORD was. */
const UNRECORDED = ['RECORD', 'RECORD.jws', 'RECORD.p7s']
const ALGORITHMS = ['sha256', 'sha384', 'sha512']

/**
 * Reads every file, and so checks sizes and checksums of the archive too.
 * @throws Problem('invalid_package') when a file has another digest than RECORD says, or only one of both has it
 */
export async function requireRecorded(
  entries: AsyncIterable<ZipEntry>,
  record: string,
  directory: string,
): Promise<void> {
  const digests = recordedDigests(record)
  for (const name of UNRECORDED) digests.delete(`${directory}/${name}`)
  for await (const { name, content } of entries) {
    const wanted = digests.get(name)
    digests.delete(name)
    const isFree = UNRECORDED.some((one) => name === `${directory}/${one}`)
    if (wanted === undefined && !isFree) throw invalid(`the file ${quote(name)} is not in RECORD`)
    const [algorithm = '', digest] = wanted ? wanted.split('=', 2) : []
    const hash = createHash(ALGORITHMS.includes(algorithm) ? algorithm : 'sha256')
    for await (const piece of content()) hash.update(piece)
    if (isFree) continue
    if (!ALGORITHMS.includes(algorithm)) throw invalid(`RECORD has no digest of ${quote(name)} that can be checked`)
    if (hash.digest('base64url') !== digest?.replace(/=+$/, ''))
      throw invalid(`the file ${quote(name)} has another digest than RECORD says`)
  }
  const [missing] = digests.keys()
  if (missing !== undefined) throw invalid(`RECORD lists ${quote(missing)}, which is not in the wheel`)
}

/** Digests by path: RECORD is a table of path, digest and size, in CSV. */
function recordedDigests(record: string): Map<string, string> {
  const digests = new Map<string, string>()
  for (const line of record.split(/\r?\n/)) {
    if (line === '') continue
    const found = /^(?:"((?:[^"]|"")*)"|([^",]*)),([^,]*),(\d*)$/.exec(line)
    if (!found) throw invalid(`the file RECORD has a line that cannot be read: ${quote(line)}`)
    const path = found[1]?.replaceAll('""', '"') ?? found[2]!
    if (digests.has(path)) throw invalid(`the file RECORD has ${quote(path)} twice`)
    digests.set(path, found[3]!)
  }
  return digests
}
