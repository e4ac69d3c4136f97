// Which records must stay when others of their distribution are deleted: published packages need them.
import type { Requirement } from '../domain/package.ts'
import { reachOf } from '../formats/architectures.ts'
import { satisfies } from '../formats/dependencies.ts'
import type { Matching, Placed } from '../formats/intake-format.ts'
import type { Db } from '../store/db.ts'
import { type Breakage } from './breakage.ts'
import { capabilitiesOf, dependentsOf, providersOf, type Dependent, type Provider } from './capability-query.ts'

/**
 * Among records that are to be deleted, finds those that must stay: without them a package that stays would miss something
 * that it has now. If several meet the same requirement, the newest stays. Unlike `removalBreaks` it checks every dependent,
 * a page at a time, because nobody confirms the result.
 * @param ids records of the distribution
 * @returns by id, one package that needs it and its requirement
 */
export async function neededAmong(
  db: Db,
  offered: Placed<Matching>,
  ids: readonly number[],
): Promise<Map<number, Breakage>> {
  const gone = new Set(ids)
  const needed = new Map<number, Breakage>()
  // A record that stays has requirements too, so it may need another one.
  for (;;) {
    const found = await unmetWithout(db, offered, gone)
    if (found.size === 0) return needed
    for (const [id, breakage] of found) {
      gone.delete(id)
      needed.set(id, breakage)
    }
  }
}

async function unmetWithout(
  db: Db,
  offered: Placed<Matching>,
  gone: ReadonlySet<number>,
): Promise<Map<number, Breakage>> {
  const found = new Map<number, Breakage>()
  const names = await capabilitiesOf(db, [...gone])
  for (let after = 0; ;) {
    const dependents = await dependentsOf(db, offered, names, after)
    const last = dependents.at(-1)
    if (!last) return found
    after = last.id
    const providers = await providersOf(db, offered, dependents)
    for (const dependent of dependents)
      if (!gone.has(dependent.id)) addUnmet(found, offered, dependent, providers, gone)
  }
}

function addUnmet(
  found: Map<number, Breakage>,
  { format, distribution }: Placed<Matching>,
  { name, version, arch, requirements }: Dependent,
  providers: ReadonlyMap<string, readonly Provider[]>,
  gone: ReadonlySet<number>,
): void {
  const reach = reachOf({ arch }, format, distribution)
  const meeting = ({ anyOf }: Requirement) =>
    anyOf.flatMap((relation) =>
      (providers.get(relation.name) ?? []).filter((offer) => satisfies(relation, offer, format.versions, reach)),
    )
  for (const requirement of requirements) {
    const offers = meeting(requirement)
    if (offers.some(({ id }) => !gone.has(id) || found.has(id))) continue
    const newest = offers.sort((a, b) => format.versions.compare(b.packageVersion, a.packageVersion) || b.id - a.id)[0]
    if (newest)
      found.set(newest.id, { name, version, arch, distribution: distribution.codename, requirement: requirement.text })
  }
}
