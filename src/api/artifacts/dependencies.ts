// The answer of /artifacts/{name}/dependencies: each requirement, which published package meets it, and whether the catalogs of sources would.
import type { PackageFacts, Requirement } from '../../domain/package.ts'
import { reachOf } from '../../formats/architectures.ts'
import { shownRequirement, unsatisfied, type Offer } from '../../formats/dependencies.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { missingIn } from '../../gate/dependencies.ts'
import { metBy } from '../../gate/met-by.ts'
import { resolveIo, sourcesFor } from '../../imports/resolve-query.ts'
import { blobOf } from '../../store/files/blob-query.ts'
import { unpackFacts } from '../../domain/packed-facts.ts'
import type { Db } from '../../store/db.ts'
import type { PackageRow } from '../../store/tables.ts'
import { append } from '../../kernel/append.ts'

/** Requirements in one answer; the largest package of Debian 12 has 980. */
const MOST_LISTED = 1000
/** Names that are looked up in catalogs with one statement. */
const NAMES_TOGETHER = 100

export async function resolveDependencies(db: Db, row: PackageRow, offered: Placed) {
  const blob = await blobOf(db, row.sha256)
  const facts = unpackFacts(blob)
  const strong = facts.requirements.filter((requirement) => requirement.strong)
  const missing = new Set(await missingIn(db, facts, offered))
  const met = await metBy(db, offered, facts)
  const missingUpstream = await missingInCatalogs(db, facts, offered)
  return {
    package: row.name,
    version: row.version,
    distribution: row.distribution,
    dependencies: strong.slice(0, MOST_LISTED).map((requirement) => ({
      ...shownRequirement(requirement),
      available_internally: !missing.has(requirement),
      met_by: met.get(requirement) ?? null,
      available_upstream: missingUpstream && !missingUpstream.has(requirement),
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

/** The strong requirements that no catalog of the distribution satisfies; null when no source of it was synced. */
async function missingInCatalogs(db: Db, facts: PackageFacts, offered: Placed): Promise<Set<Requirement> | null> {
  const sources = await sourcesFor(db, offered, [])
  if (sources.length === 0) return null
  const strong = facts.requirements.filter((requirement) => requirement.strong)
  const names = [...new Set(strong.flatMap(({ anyOf }) => anyOf.map((relation) => relation.name)))]
  const { candidates } = resolveIo(db, offered, sources)
  const offers = new Map<string, Offer[]>()
  const add = (name: string, offer: Offer) => {
    append(offers, name, offer)
  }
  for (let at = 0; at < names.length; at += NAMES_TOGETHER) {
    const wanted = new Set(names.slice(at, at + NAMES_TOGETHER))
    for (const { name, version, arch, provides } of await candidates([...wanted])) {
      if (wanted.has(name)) add(name, { version, arch })
      for (const one of provides) if (wanted.has(one.name)) add(one.name, { version: one.version ?? null, arch })
    }
  }
  return new Set(
    unsatisfied(facts, offers, offered.format.versions, reachOf(facts, offered.format, offered.distribution)),
  )
}
