// Fetches one package to the disk, exactly as listed in its index.
import { rm } from 'node:fs/promises'
import type { Digests } from '../domain/package.ts'
import { isProblem } from '../domain/problem.ts'
import { refused, type CatalogEntry, type StagedFile } from '../formats/catalog.ts'
import { checkPath, isElsewhere } from './paths.ts'
import { mismatch } from './problems.ts'
import type { Reading } from './reading.ts'
import { stage } from './stage.ts'
import type { Transport } from './transport.ts'

/** A package on the disk; not flushed. */
export interface FetchedPackage extends StagedFile {
  digests: Digests
}

/** @throws Problem as listed in upstream.ts; `to` does not exist then */
export async function fetchPackage(
  transport: Transport,
  reading: Reading,
  { path, sizeBytes, digest }: Pick<CatalogEntry, 'path' | 'sizeBytes' | 'digest'>,
  to: string,
  wait: (ms: number) => Promise<void>,
): Promise<FetchedPackage> {
  const away = isElsewhere(path) ? transport.elsewhere?.at(path) : undefined
  if (!away) checkPath(path, 'the catalog')
  const whole = digest.algorithm === 'control-sha1' ? null : { ...digest, algorithm: digest.algorithm }
  const fetched = await stage(away ?? transport, { path, sizeBytes, mostBytes: sizeBytes, digest: whole }, to, wait)
  if (typeof fetched === 'string') throw refused('missing', `${transport.name} lists ${path} and does not have it`)
  try {
    if (!whole) {
      const found = await reading.packageDigest(to)
      if (found !== digest.hex)
        throw mismatch(`${path} of ${transport.name} has the digest ${found ?? 'unknown'}; ${digest.hex} is listed`)
    }
  } catch (error) {
    await rm(to, { force: true })
    throw isProblem(error, 'invalid_package') ? mismatch(`${path} of ${transport.name}: ${error.detail}`) : error
  }
  const { sizeBytes: found, sha256, digests } = fetched
  return { path: to, sizeBytes: found, sha256, digests }
}
