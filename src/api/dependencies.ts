// The answer of /artifacts/{name}/dependencies: each requirement, and whether published packages meet it.
import { shownRequirement } from '../formats/dependencies.ts'
import type { Offered } from '../formats/format.ts'
import { missingIn } from '../gate/dependencies.ts'
import { blobOf } from '../store/files/blob-query.ts'
import { unpackFacts } from '../domain/packed-facts.ts'
import type { Db } from '../store/db.ts'
import type { PackageRow } from '../store/tables.ts'

/** Requirements in one answer; the largest package of Debian 12 has 980. */
const MOST_LISTED = 1000

export async function resolveDependencies(db: Db, row: PackageRow, offered: Offered) {
  const blob = await blobOf(db, row.sha256)
  const facts = unpackFacts(blob)
  const strong = facts.requirements.filter((requirement) => requirement.strong)
  const missing = new Set(await missingIn(db, facts, offered))
  return {
    package: row.name,
    version: row.version,
    distribution: row.distribution,
    dependencies: strong.slice(0, MOST_LISTED).map((requirement) => ({
      ...shownRequirement(requirement),
      available_internally: !missing.has(requirement),
      // Null until the catalogs of sources are asked.
      available_upstream: null,
      depth: 1,
    })),
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
