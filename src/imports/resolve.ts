// What a package of a catalog needs and a distribution does not have: the closure of its strong requirements.
import type { Requirement } from '../domain/package.ts'
import { reachOf, type Reach } from '../formats/architectures.ts'
import { isMetBy, satisfies, unsatisfied, type Offer, type Offers } from '../formats/dependencies.ts'
import type { Offered } from '../formats/format.ts'
import type { CatalogRow } from '../store/tables.ts'
import { append } from '../kernel/append.ts'

/** Packages of one closure; a whole desktop has some 2,000. */
const MOST_PACKAGES = 5000

export type Candidate = Pick<
  CatalogRow,
  'source_id' | 'path' | 'name' | 'version' | 'arch' | 'size_bytes' | 'requirements' | 'provides'
>

/** What is published under a name, and by which package. */
export interface PublishedOffer extends Offer {
  package: string
  /** a package of the catalogs that meets the requirement is chosen instead */
  replaceable?: boolean
}

export interface ResolveIo<C extends Candidate> {
  /** What the distribution offers under these names. */
  published(names: readonly string[]): Promise<ReadonlyMap<string, readonly PublishedOffer[]>>
  /** The packages of the catalogs that have one of these names or provide it. */
  candidates(names: readonly string[]): Promise<readonly C[]>
}

/** A package that has to be imported. */
export interface Needed<C extends Candidate> {
  candidate: C
  /** name of the first package that needs it; null for a requested package */
  neededBy: string | null
}

/** A requirement that a published package meets. */
export interface Met {
  /** as the relation names it */
  name: string
  /** of the published package */
  package: string
  neededBy: string
}

export interface Resolution<C extends Candidate> {
  /** requested packages first, then breadth-first: dependencies come after the package that needs them */
  needed: Needed<C>[]
  met: Met[]
  /** requirements that neither the distribution nor a catalog meets */
  missing: { text: string; neededBy: string }[]
  /** whether the closure has more than `MOST_PACKAGES` */
  isCut: boolean
}

/**
 * Follows requirements level by level, with two queries for each level. Takes the first of a requirement's alternatives that
 * can be met. Of the packages that meet it, one of that name is preferred to those that provide it, then the newest.
 * Ignores conflicts.
 */
export async function resolve<C extends Candidate>(
  roots: readonly C[],
  target: Offered,
  io: ResolveIo<C>,
): Promise<Resolution<C>> {
  const { versions } = target.format
  const result: Resolution<C> = { needed: [], met: [], missing: [], isCut: false }
  const published = new Map<string, readonly PublishedOffer[]>()
  const staying = { get: (name: string) => published.get(name)?.filter(({ replaceable }) => !replaceable) }
  const candidates = new Map<string, readonly C[]>()
  const chosen = createOffers()
  const met = new Set<string>()
  const missing = new Set<string>()

  function choose(candidate: C, neededBy: string | null): C {
    result.needed.push({ candidate, neededBy })
    chosen.add(candidate)
    return candidate
  }

  let level = roots.map((root) => choose(root, null))
  while (level.length > 0) {
    const open = level.map((node) => ({ node, reach: reachOf(node, target.format, target.distribution) }))
    const names = namesOf(open.flatMap(({ node, reach }) => openOf(node, new Map(), reach)))
    await load(names, published, (unknown) => io.published(unknown))
    const wanted = open.flatMap(({ node, reach }) => {
      noteMet(node, reach)
      return openOf(node, joined(staying, chosen.offers), reach).map((requirement) => ({ node, reach, requirement }))
    })
    await load(namesOf(wanted.map(({ requirement }) => requirement)), candidates, async (unknown) =>
      byName(await io.candidates(unknown), unknown),
    )
    const next: C[] = []
    for (const { node, reach, requirement } of wanted) {
      // A package chosen for another requirement of this level may meet it.
      if (isMetBy(chosen.offers, requirement, versions, reach)) continue
      const candidate = bestFor(requirement, reach)
      if (candidate) next.push(choose(candidate, node.name))
      else if (!missing.has(requirement.text) && !isMetBy(published, requirement, versions, reach)) {
        missing.add(requirement.text)
        result.missing.push({ text: requirement.text, neededBy: node.name })
      }
      if (result.needed.length >= MOST_PACKAGES) return { ...result, isCut: true }
    }
    level = next
  }
  return result

  function openOf(node: C, offers: Pick<Offers, 'get'>, reach: Reach): Requirement[] {
    return unsatisfied({ ...node, files: [] }, offers, versions, reach)
  }

  function noteMet(node: C, reach: Reach): void {
    for (const { anyOf } of openOf(node, new Map(), reach)) {
      for (const relation of anyOf) {
        const offer = published.get(relation.name)?.find((one) => satisfies(relation, one, versions, reach))
        if (!offer) continue
        if (!met.has(relation.name)) {
          met.add(relation.name)
          result.met.push({ name: relation.name, package: offer.package, neededBy: node.name })
        }
        break
      }
    }
  }

  function bestFor({ anyOf }: Requirement, reach: Reach): C | null {
    for (const relation of anyOf) {
      const fitting = (candidates.get(relation.name) ?? []).filter((one) =>
        offersOf(one).some(([name, offer]) => name === relation.name && satisfies(relation, offer, versions, reach)),
      )
      const best = fitting.reduce<C | null>(
        (found, one) => (found && compare(found, one, relation.name) <= 0 ? found : one),
        null,
      )
      if (best) return best
    }
    return null
  }

  /** Negative when `a` is the better choice. */
  function compare(a: C, b: C, name: string): number {
    if ((a.name === name) !== (b.name === name)) return a.name === name ? -1 : 1
    if (a.name !== b.name) return a.name < b.name ? -1 : 1
    return versions.compare(b.version, a.version)
  }
}

/** What a package offers: itself, and what it provides. */
export function offersOf({ name, version, arch, provides }: Candidate): [string, Offer][] {
  return [
    [name, { version, arch }],
    ...provides.map((one): [string, Offer] => [one.name, { version: one.version ?? null, arch }]),
  ]
}

function createOffers() {
  const offers = new Map<string, Offer[]>()
  return {
    offers: offers as Offers,
    add(candidate: Candidate): void {
      for (const [name, offer] of offersOf(candidate)) {
        append(offers, name, offer)
      }
    },
  }
}

const namesOf = (requirements: readonly Requirement[]): string[] => [
  ...new Set(requirements.flatMap(({ anyOf }) => anyOf.map(({ name }) => name))),
]

/** Loads the names that are not known yet; names without a result are then known to have none. */
async function load<T>(
  names: readonly string[],
  known: Map<string, readonly T[]>,
  read: (unknown: readonly string[]) => Promise<ReadonlyMap<string, readonly T[]>>,
): Promise<void> {
  const unknown = names.filter((name) => !known.has(name))
  if (unknown.length === 0) return
  const found = await read(unknown)
  for (const name of unknown) known.set(name, found.get(name) ?? [])
}

/** By each of these names, the rows that have or provide it. */
export function byName<C extends Candidate>(rows: readonly C[], names: readonly string[]): Map<string, C[]> {
  const wanted = new Set(names)
  const found = new Map<string, C[]>()
  for (const row of rows) {
    for (const name of new Set(offersOf(row).map(([offered]) => offered))) {
      if (!wanted.has(name)) continue
      append(found, name, row)
    }
  }
  return found
}

/** The offers of both. */
const joined = (a: Pick<Offers, 'get'>, b: Pick<Offers, 'get'>): Pick<Offers, 'get'> => ({
  get: (name) => [...(a.get(name) ?? []), ...(b.get(name) ?? [])],
})
