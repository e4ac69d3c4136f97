// Which offered record a package would get for each of its requirements: the edges of the dependency graph.
import type { Relation, Requirement } from '../domain/package.ts'
import { holds } from '../formats/dependencies.ts'
import type { VersionScheme } from '../formats/ecosystem.ts'
import type { Db } from '../store/db.ts'
import { providersOf, requirementsOf, type Provider } from '../store/records/inventory-query.ts'
import type { Entry } from './entry.ts'

export interface Edges {
  /** ids of the records it would get, each once, in the order of its requirements */
  providers: Provider[]
  /** strong requirements that no offered record meets, and that the package does not meet itself */
  unmet: Requirement[]
}

/** The edges of a page of records, in two queries for each distribution of it. */
export async function edgesOf(
  db: Db,
  entries: readonly Entry[],
  versionsOf: (entry: Entry) => VersionScheme,
): Promise<Map<number, Edges>> {
  const requirements = await requirementsOf(
    db,
    entries.map(({ row }) => row.sha256),
  )
  const strong = (entry: Entry) =>
    (requirements.get(entry.row.sha256) ?? []).filter((requirement) => requirement.strong)
  const edges = new Map<number, Edges>()
  for (const codename of new Set(entries.map(({ row }) => row.distribution))) {
    const here = entries.filter(({ row }) => row.distribution === codename)
    const names = new Set(here.flatMap((entry) => strong(entry).flatMap(({ anyOf }) => anyOf.map(({ name }) => name))))
    const offers = await providersOf(db, codename, [...names])
    for (const entry of here) edges.set(entry.row.id, solve(entry, strong(entry), offers, versionsOf(entry)))
  }
  return edges
}

function solve(
  { row }: Entry,
  requirements: readonly Requirement[],
  offers: ReadonlyMap<string, readonly Provider[]>,
  versions: VersionScheme,
): Edges {
  const providers = new Map<number, Provider>()
  const unmet: Requirement[] = []
  for (const requirement of requirements) {
    const fitting = requirement.anyOf.map((relation) =>
      (offers.get(relation.name) ?? []).filter((offer) => meets(relation, offer, versions)),
    )
    // What the package offers itself is satisfied by it, and is no edge.
    if (fitting.some((offers) => offers.some((offer) => offer.id === row.id))) continue
    const best = fitting.map((offers) => bestOf(offers, versions)).find((offer) => offer !== null)
    if (best) providers.set(best.id, best)
    else unmet.push(requirement)
  }
  return { providers: [...providers.values()], unmet }
}

function meets({ op, version }: Relation, offer: Provider, versions: VersionScheme): boolean {
  if (op === undefined || version === undefined) return true
  if (versions.meets) return versions.meets(offer.offered, op, version)
  return offer.offered !== null && holds(versions.compare(offer.offered, version), op)
}

/** The package of that name before others that provide it, the newest before older ones; then by name, so that it is always the same. */
function bestOf(offers: readonly Provider[], versions: VersionScheme): Provider | null {
  const isNamed = (offer: Provider) => Number(offer.package === offer.name)
  const better = (a: Provider, b: Provider) =>
    isNamed(a) - isNamed(b) ||
    versions.compare(a.version, b.version) ||
    (a.package === b.package ? 0 : a.package < b.package ? 1 : -1) ||
    (a.arch === b.arch ? 0 : a.arch < b.arch ? 1 : -1)
  return offers.reduce<Provider | null>((best, offer) => (best && better(best, offer) >= 0 ? best : offer), null)
}

/** A requirement as people read it, and the name it is about where it is about one package. */
export function namedIn(requirement: Requirement): { text: string; name: string | null } {
  const [first] = requirement.anyOf
  // Sonames, paths and other capabilities are not names of packages.
  return { text: requirement.text, name: first && /^[A-Za-z0-9][A-Za-z0-9+._-]*$/.test(first.name) ? first.name : null }
}
