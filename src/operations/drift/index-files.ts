// Compares the live generation of each distribution with its own descriptions and signatures.
import { readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { IndexClaims, Offered, OwnSignatures } from '../../formats/format.ts'
import { ifMissing, isMissing } from '../../kernel/files.ts'
import { statName } from '../../kernel/names.ts'
import { entriesBelow } from '../../kernel/files-below.ts'
import { BY_HASH, leadsTo, linkedGeneration, treeOf, type Tree } from '../../publish/tree/tree.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { CHANGING, faulty, SOUND, suspectOf, type Confirm, type Inspection, type Suspect } from './inspection.ts'
import { overDistributions, type PublishedDeps } from './package-files.ts'
import { isPresent, isUnfinished } from './reading.ts'

export interface IndexDeps extends PublishedDeps {
  signatures: OwnSignatures
}

/** A distribution that is published once a second leaves half a second to check one generation. */
const ATTEMPTS = 5

/** Finds index files that are missing, differ from the signed descriptions, or are not signed by our keys. */
export function indexFiles(deps: IndexDeps): Inspection {
  return {
    name: 'index files',
    suspects: (after, signal) =>
      overDistributions(deps.all, after, async function* (offered) {
        signal.throwIfAborted()
        const suspects = await faultsOf(deps, offered)
        yield { suspects: suspects ?? [], checked: 1, after: '' }
      }),
  }
}

/** Searches for all faults of the distribution again, so that one file cannot hide another. */
export function confirmIndex(deps: IndexDeps): Confirm {
  return async ({ subject, distribution: codename }) => {
    const offered = deps.all.find(({ distribution }) => distribution.codename === codename)
    if (!offered) return SOUND
    const faults = await faultsOf(deps, offered)
    if (!faults) return CHANGING
    const found = faults.find((one) => one.subject === subject)
    return found ? faulty(found) : SOUND
  }
}

/** @returns null when a publish interrupted every attempt */
async function faultsOf(deps: IndexDeps, offered: Offered): Promise<Suspect[] | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const faults = await attemptOn(deps, offered)
    if (faults) return faults
  }
  return null
}

async function attemptOn(deps: IndexDeps, offered: Offered): Promise<Suspect[] | null> {
  const { paths } = deps
  const { format, distribution } = offered
  const { codename } = distribution
  const tree = treeOf(paths, format, distribution)
  const suspect = (path: string, fault: Suspect['fault'], detail: string) =>
    suspectOf('index', relative(paths.root, path), fault, detail, { distribution: codename })

  const linked = await linkedGeneration(tree.link)
  const generation = await liveGeneration(deps.db, codename)
  if ((await linkedGeneration(tree.link)) !== linked) return null
  // The distribution was never published.
  if (generation === null) return []
  if (linked !== generation) {
    const fault = linked === null ? 'missing' : 'wrong_link'
    return [suspect(tree.link, fault, `clients do not see the generation ${generation}`)]
  }
  const directory = join(tree.base, generation)
  if (!(await isPresent(directory)))
    return [suspect(tree.link, 'wrong_link', `the generation ${generation} is missing`)]
  const faults: Suspect[] = []
  for (const { path, target } of tree.standing) {
    if (await leadsTo(path, target)) continue
    faults.push(suspect(path, (await isPresent(path)) ? 'wrong_link' : 'missing', 'the link that clients use'))
  }

  const read = async (path: string) => readOrNull(join(directory, path))
  const claims = await format.readClaims(distribution, read, deps.signatures)
  // Clients see files below the link. Its path stays the same when the next generation has the same fault.
  const shown = (path: string) => join(tree.link, path)
  for (const { path, fault } of claims.roots)
    if (fault) faults.push(suspect(shown(path), fault, fault === 'missing' ? 'index file' : 'not what was signed'))
  faults.push(...(await listedFaults(deps, tree, directory, claims, shown, suspect)))
  // A damaged description lists nothing.
  const known = claims.roots.every(({ fault }) => fault === null)
  for (const path of known ? await unknownIn(directory, claims) : [])
    faults.push(suspect(shown(path), 'unknown', 'the index does not list it'))
  // Files of a superseded generation may be removed at any time.
  return (await linkedGeneration(tree.link)) === generation ? faults : null
}

/** Waits for a publish that has renamed its link but not committed yet. */
async function liveGeneration(db: Db, codename: string): Promise<string | null> {
  return transaction(db, async (tx) => {
    const row = await tx
      .selectFrom('distributions')
      .select('generation')
      .where('codename', '=', codename)
      .forShare()
      .executeTakeFirst()
    return row?.generation ?? null
  })
}

async function listedFaults(
  { hashing }: IndexDeps,
  tree: Tree,
  directory: string,
  { listed }: IndexClaims,
  shown: (path: string) => string,
  suspect: (path: string, fault: Suspect['fault'], detail: string) => Suspect,
): Promise<Suspect[]> {
  const faults: Suspect[] = []
  for (const { path, sizeBytes, sha256, byHash } of listed) {
    const fault = await faultOf(join(directory, path), sizeBytes, sha256)
    if (fault) faults.push(suspect(shown(path), fault, 'not what the index lists'))
    if (byHash === null) continue
    const other = join(tree.byHash, 'SHA256', byHash)
    const isOne = (await inodeOf(other)) === (await inodeOf(join(directory, path)))
    const otherFault = !fault && isOne ? null : await faultOf(other, sizeBytes, sha256)
    // One damaged file with two names is one finding.
    if (otherFault && !(isOne && otherFault === fault)) faults.push(suspect(other, otherFault, `${BY_HASH} of ${path}`))
  }
  return faults

  async function faultOf(path: string, sizeBytes: number, sha256: string): Promise<Suspect['fault'] | null> {
    try {
      const found = await hashing.digest(path)
      if (found.sizeBytes !== sizeBytes) return 'wrong_size'
      return found.sha256 === sha256 ? null : 'wrong_content'
    } catch (error) {
      if (isMissing(error)) return 'missing'
      throw error
    }
  }
}

async function inodeOf(path: string): Promise<number | null> {
  return (await statName(path))?.ino ?? null
}

/** Regular files of a generation that its index does not list. Links belong to the layout. */
async function unknownIn(directory: string, { roots, listed }: IndexClaims): Promise<string[]> {
  const known = new Set([...roots, ...listed].map(({ path }) => path))
  const unknown: string[] = []
  for await (const entry of entriesBelow(directory)) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const name = relative(directory, path)
    if (!known.has(name) && !(await isUnfinished(path))) unknown.push(name)
  }
  return unknown
}

async function readOrNull(path: string): Promise<Buffer | null> {
  return readFile(path).catch(ifMissing(null))
}

/**
 * Removes damaged files that the next generation would link again, because publishes trust the names under `by-hash` and
 * background indexes. @returns the number of removed files
 */
export async function removeDamaged({ paths, hashing, signatures }: IndexDeps, offered: Offered): Promise<number> {
  const { format, distribution } = offered
  const tree = treeOf(paths, format, distribution)
  const generation = await linkedGeneration(tree.link)
  if (generation === null) return 0
  const read = (path: string) => readOrNull(join(tree.base, generation, path))
  const { listed } = await format.readClaims(distribution, read, signatures)
  let removed = 0
  for (const { sha256, byHash } of listed) {
    const paths = [join(tree.background, sha256), ...(byHash === null ? [] : [join(tree.byHash, 'SHA256', byHash)])]
    for (const path of paths) {
      if (!(await isPresent(path)) || (await hashing.digest(path)).sha256 === sha256) continue
      await rm(path, { force: true })
      removed++
    }
  }
  return removed
}
