// The packages that a mirror selects and an import would refuse, because they claim a reserved name.
import { reservedProblem } from '../../packages/reserved-names.ts'
import type { Db } from '../../store/db.ts'
import { reservationsOf } from '../../store/reservations.ts'
import { wholeRows } from './missing.ts'
import type { Mirror } from './mirrors.ts'
import type { Selected } from './select.ts'

/** Checks what the catalog states; the import checks the files. @returns their paths */
export async function reservedPaths(
  db: Db,
  { source, target }: Mirror,
  packages: readonly Selected[],
): Promise<Set<string>> {
  const paths = new Set<string>()
  const reservations = await reservationsOf(db, target.format.id)
  if (reservations.length === 0) return paths
  for await (const entry of wholeRows(db, source.id, packages))
    if (reservedProblem(reservations, target.format, entry, source.id)) paths.add(entry.path)
  return paths
}
