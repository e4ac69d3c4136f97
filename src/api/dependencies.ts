// The answer of /artifacts/{name}/dependencies: each requirement, and whether published packages meet it.
import { reachOf, unsatisfied } from '../formats/dependencies.ts'
import type { Offered } from '../formats/format.ts'
import { offersOf } from '../gate/dependencies.ts'
import { blobOf } from '../store/files/blob-query.ts'
import { unpackFacts } from '../domain/packed-facts.ts'
import type { Db } from '../store/db.ts'
import type { PackageRow } from '../store/tables.ts'

/** Requirements in one answer; the largest package of Debian 12 has 980. */
const MOST_LISTED = 1000

export async function resolveDependencies(db: Db, row: PackageRow, { format, distribution }: Offered) {
  const blob = await blobOf(db, row.sha256)
  const facts = unpackFacts(blob)
  const strong = facts.requirements.filter((requirement) => requirement.strong)
  const names = new Set(strong.flatMap((requirement) => requirement.anyOf.map((relation) => relation.name)))
  const offers = await offersOf(db, row.distribution, [...names])
  const missing = new Set(unsatisfied(facts, offers, format.versions, reachOf(row, format, distribution)))
  return {
    package: row.name,
    version: row.version,
    distribution: row.distribution,
    dependencies: strong.slice(0, MOST_LISTED).map((requirement) => {
      const [only, ...others] = requirement.anyOf
      const single = only && others.length === 0
      return {
        name: single ? only.name : requirement.text,
        version_constraint: single && only.op ? `${only.op} ${only.version ?? ''}` : '',
        available_internally: !missing.has(requirement),
        // Null until upstream sources can be synced.
        available_upstream: null,
        depth: 1,
      }
    }),
    dependencies_total: strong.length,
    all_satisfied: missing.size === 0,
    missing_total: missing.size,
    missing: [...missing]
      .slice(0, MOST_LISTED)
      .map((requirement) =>
        requirement.anyOf.length === 1 ? (requirement.anyOf[0]?.name ?? requirement.text) : requirement.text,
      ),
    install_blocked: missing.size > 0 || !row.served,
  }
}
