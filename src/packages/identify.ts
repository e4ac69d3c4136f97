// Before the gate: checks that the file is a package, belongs to this distribution, and is new.
import { readPiece } from '../formats/archive/file-range.ts'
import type { Distribution } from '../domain/package.ts'
import { Problem } from '../domain/problem.ts'
import type { Offered } from '../formats/format.ts'
import type { IntakeFormat, Placed } from '../formats/intake-format.ts'
import { unknownDistribution } from '../formats/unknown-distribution.ts'
import { sql } from 'kysely'
import { createBatches } from '../kernel/batches.ts'
import type { Db } from '../store/db.ts'
import type { PackageRow } from '../store/tables.ts'
import type { Candidate, Staged } from '../gate/step.ts'
import { refuseTakenPath, requireFitting } from './fit.ts'

const HEAD_BYTES = 4096
/** Most candidates of one query for duplicates. */
const LOOKED_UP = 50

export interface FormatRegistry {
  recognize(head: Uint8Array): IntakeFormat | null
  find(codename: string): Offered | null
  /** the distribution, or the repository with this key, whether there is one or not */
  place(key: string): Placed | null
  /** all known distributions, active or not */
  readonly distributions: readonly Distribution[]
  isActive(codename: string): boolean
}

/** @throws Problem('unknown_distribution' or 'distribution_inactive') */
export function openDistribution(registry: FormatRegistry, codename: string): Offered {
  return open(registry, codename, registry.find(codename))
}

/** The same for a repository too, which may not exist. @throws as `openDistribution` */
export function openPlace(registry: FormatRegistry, key: string): Placed {
  return open(registry, key, registry.place(key))
}

function open<Found>(registry: FormatRegistry, key: string, found: Found | null): Found {
  if (!found) throw unknownDistribution(key, registry.distributions, 'unknown_distribution')
  if (!registry.isActive(key))
    throw new Problem(
      'distribution_inactive',
      `${key} takes no packages: its format is switched off, or it is no longer declared`,
    )
  return found
}

/** Reads the file's facts. @throws Problem('invalid_package', 'format_mismatch' or 'arch_mismatch') */
export async function identify(
  registry: Pick<FormatRegistry, 'recognize'>,
  staged: Staged,
  { format: wanted, distribution }: Placed,
): Promise<Candidate> {
  const { codename } = distribution
  if (staged.sizeBytes === 0) throw new Problem('invalid_package', 'the file is empty')
  // A library is in an ordinary archive, so the place says what it should be, and `read` whether it is.
  const format = wanted.isLibrary ? wanted : registry.recognize(await readPiece(staged.path, 0, HEAD_BYTES))
  if (!format) throw new Problem('invalid_package', 'the file is not a package of any known format')
  if (format.id !== wanted.id)
    throw new Problem(
      'format_mismatch',
      `${codename} takes ${wanted.id} packages, this is a package of format ${format.id}`,
    )
  const facts = await format.read(staged.path)
  requireFitting(facts, { format, distribution })
  const { path, sizeBytes, digests } = staged
  return {
    path,
    sizeBytes,
    digests,
    format,
    distribution,
    facts,
    filename: format.filename(facts),
    receivedSha256: digests.sha256,
  }
}

/**
 * Returns the record under which these bytes were rejected, if there is one; it takes precedence over the two conflicts.
 * @throws Problem('already_exists' or 'duplicate_conflict') when name, version and architecture exist there
 */
export type FindDuplicate = (candidate: Candidate) => Promise<PackageRow | null>

/** Candidates that arrive at the same time share a query. */
export function createFindDuplicate(db: Db): FindDuplicate {
  const alikeOf = createBatches(async (candidates: readonly Candidate[]) => {
    const alike = await alikeAny(db, candidates)
    return candidates.map(() => alike)
  }, LOOKED_UP)
  return async (candidate) => duplicateIn(await alikeOf(candidate), candidate)
}

/** Rejected records with the bytes of a candidate, and records with its name and version in its distribution. */
async function alikeAny(db: Db, candidates: readonly Candidate[]): Promise<PackageRow[]> {
  const digests = candidates.map(({ receivedSha256 }) => receivedSha256)
  return db
    .selectFrom('records')
    .selectAll()
    .where(
      'id',
      'in',
      sql<number>`(
        select id from packages where status = 'rejected' and sha256 = any(${digests}::text[])
        union select id from packages where status = 'rejected' and received_sha256 = any(${digests}::text[])
        union select p.id from unnest(${candidates.map(({ distribution }) => distribution.codename)}::text[],
          ${candidates.map(({ facts }) => facts.name)}::text[], ${candidates.map(({ facts }) => facts.version)}::text[])
          as wanted (distribution, name, version) join packages p using (distribution, name, version))`,
    )
    .orderBy('id')
    .execute()
}

function duplicateIn(alike: readonly PackageRow[], candidate: Candidate): PackageRow | null {
  const { facts, receivedSha256: sha256, distribution } = candidate
  const rejected = alike.find(
    (row) => row.status === 'rejected' && (row.sha256 === sha256 || row.received_sha256 === sha256),
  )
  if (rejected) return rejected
  const namesakes = alike.filter(
    (row) => row.distribution === distribution.codename && row.name === facts.name && row.version === facts.version,
  )
  const existing = namesakes.find((row) => row.arch === facts.arch)
  if (!existing) {
    refuseTakenPath({ ...candidate, sha256: candidate.digests.sha256, arch: facts.arch }, namesakes)
    return null
  }
  const what = `${facts.name} ${facts.version} (${facts.arch})`
  // In a stream of events `status` is `error`, so the status of the record is in another key too.
  const found = { package: facts.name, version: facts.version, arch: facts.arch, existing_status: existing.status }
  if (existing.sha256 === sha256 || existing.received_sha256 === sha256) {
    throw new Problem('already_exists', `${what} is already in ${distribution.codename}`, {
      ...found,
      status: existing.status,
      sha256: existing.sha256,
    })
  }
  throw new Problem('duplicate_conflict', `${what} is in ${distribution.codename} with other bytes`, {
    ...found,
    existing_sha256: existing.sha256,
    incoming_sha256: sha256,
    status: existing.status,
  })
}
