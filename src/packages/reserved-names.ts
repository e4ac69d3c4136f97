// Refuses packages that claim a name reserved for another way of arrival (dependency confusion).
import type { FormatId, PackageFacts } from '../domain/package.ts'
import { Problem } from '../domain/problem.ts'
import { reservedName, type Claims, type Reservation } from '../domain/reservations.ts'
import type { IntakeFormat } from '../formats/intake-format.ts'
import { createKeyedShared } from '../kernel/shared.ts'
import type { Db } from '../store/db.ts'
import { reservationsOf } from '../store/reservations.ts'

/** The names that a file, or the entry of a catalog, states. */
export type Stated = Pick<PackageFacts, 'name' | 'provides' | 'requirements'>

/**
 * The intake calls this with the facts of the file itself: what a catalog states about the file does not count.
 * @param sourceId the import source of the package; null for an upload
 * @throws Problem('name_reserved')
 */
export type RequireUnreserved = (format: IntakeFormat, facts: Stated, sourceId: number | null) => Promise<void>

/** Packages that arrive at the same time share a query. */
export function createRequireUnreserved(db: Db): RequireUnreserved {
  const readAll = createKeyedShared((format: FormatId) => reservationsOf(db, format))
  return async (format, facts, sourceId) => {
    const problem = reservedProblem(await readAll(format.id), format, facts, sourceId)
    if (problem) throw problem
  }
}

/** The names that the package has or replaces. */
export function claimsOf(format: IntakeFormat, { name, provides, requirements }: Stated): Claims {
  const replacing = format.installation.excludesByName ?? []
  const replaces = requirements
    .filter(({ kind }) => replacing.includes(kind))
    .flatMap(({ anyOf }) => anyOf.map((relation) => relation.name))
  return { format: format.id, name, provides: provides.map((one) => one.name), replaces }
}

export function reservedProblem(
  reservations: readonly Reservation[],
  format: IntakeFormat,
  stated: Stated,
  sourceId: number | null,
): Problem | null {
  if (reservations.length === 0) return null
  const found = reservedName(reservations, claimsOf(format, stated), sourceId)
  if (!found) return null
  const { claim, reservation } = found
  const owner = reservation.source_id === null ? 'uploads' : `the import source ${reservation.source_id}`
  const by = reservation.pattern === found.name ? '' : ` by the pattern ${reservation.pattern}`
  const what = claim === 'name' ? stated.name : `${stated.name} ${claim} ${found.name}, which`
  return new Problem('name_reserved', `${what} is reserved for ${owner}${by}`, {
    reserved_name: found.name,
    claim,
    pattern: reservation.pattern,
    reservation_id: reservation.id,
    reserved_for_source: reservation.source_id,
  })
}
