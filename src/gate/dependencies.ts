// The dependency step: are the package's requirements published in its distribution, and does it break others?
import { reachOf } from '../formats/architectures.ts'
import { unsatisfied, type Offers } from '../formats/dependencies.ts'
import type { PackageFacts, Requirement } from '../domain/package.ts'
import type { Seen } from '../domain/evidence.ts'
import type { Matching, Placed } from '../formats/intake-format.ts'
import { createKeyedBatches } from '../kernel/batches.ts'
import type { Db } from '../store/db.ts'
import { additionBreaks, breakageWarning, type Breakage } from './breakage.ts'
import { offersOf, publishedVersions } from './capability-query.ts'
import type { Step } from './step.ts'

/** How many unsatisfied requirements the message names; the verdict's detail has all. */
const NAMED = 10
/** Broken packages that a verdict names. */
const MOST_BREAKAGES = 100
/** Packages that share one query. */
const TOGETHER = 50

/**
 * The strong requirements of a package that no published package of a distribution satisfies.
 * @param alongside codenames of distributions whose packages count too
 * @param read reads what a distribution offers; it may return more names
 */
export async function missingIn(
  db: Db,
  facts: PackageFacts,
  { format, distribution }: Placed<Matching>,
  alongside: readonly string[] = [],
  read: OffersOf = (codename, names) => offersOf(db, codename, names),
): Promise<Requirement[]> {
  const strong = facts.requirements.filter((requirement) => requirement.strong)
  const names = [...new Set(strong.flatMap(({ anyOf }) => anyOf.map((relation) => relation.name)))]
  const offers = new Map(await read(distribution.codename, names))
  for (const codename of alongside)
    for (const [name, list] of await read(codename, names)) offers.set(name, [...(offers.get(name) ?? []), ...list])
  return unsatisfied(facts, offers, format.versions, reachOf(facts, format, distribution))
}

export type OffersOf = (codename: string, names: readonly string[]) => Promise<Offers>

/** Packages that are checked at the same time share a query: each gets the result for the names of all. */
function readTogether<T>(read: (codename: string, names: readonly string[]) => Promise<T>) {
  return createKeyedBatches(async (codename, lists: readonly (readonly string[])[]) => {
    const found = await read(codename, [...new Set(lists.flat())])
    return lists.map(() => found)
  }, TOGETHER)
}

export function createOffersOf(db: Db): OffersOf {
  return readTogether((codename, names) => offersOf(db, codename, names))
}

export function dependenciesStep(db: Db): Step {
  const read = createOffersOf(db)
  const publishedOf = readTogether((codename, names) => publishedVersions(db, codename, names))
  return {
    key: 'dependencies',
    label: 'Dependencies',
    async run({ facts, format, distribution }) {
      // Its clients choose versions from several repositories, and from the client's own list.
      if (format.isLibrary) return { missing: [], seen: { result: 'skipped', message: 'clients resolve libraries' } }
      const missing = (await missingIn(db, facts, { format, distribution }, [], read)).map(({ text }) => text)
      const breaks = await additionBreaks(db, { format, distribution }, [facts], publishedOf)
      return { missing, seen: seenOf(missing, breaks, distribution.codename) }
    },
  }
}

/** If the package breaks others, that is the result, whatever it misses itself. */
function seenOf(missing: readonly string[], breaks: readonly Breakage[], codename: string): Seen {
  const warning = breakageWarning(breaks)
  if (warning !== null) {
    const message = missing.length === 0 ? warning : `${warning}; ${missingMessageOf(missing, codename)}`
    const detail = { missing, would_break: breaks.slice(0, MOST_BREAKAGES), would_break_total: breaks.length }
    return { check: 'dependencies', result: 'breaks_others', message, detail }
  }
  return seenMissing(missing, codename)
}

/** @param missing requirements that nothing published in the distribution meets, as texts */
export function seenMissing(missing: readonly string[], codename: string): Seen {
  const check = 'dependencies'
  if (missing.length === 0) return { check, result: 'satisfied', message: 'every dependency is published here' }
  const message = missingMessageOf(missing, codename)
  return { check, result: 'missing', message, detail: { missing } }
}

function missingMessageOf(missing: readonly string[], codename: string): string {
  const named = missing.slice(0, NAMED).join('; ') + (missing.length > NAMED ? ' …' : '')
  return `not published in ${codename}: ${named}`
}
