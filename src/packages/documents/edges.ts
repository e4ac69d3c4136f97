// The edges of the dependency graph: which offered record satisfies each requirement of a package.
import { setImmediate as turn } from 'node:timers/promises'
import type { Requirement } from '../../domain/package.ts'
import { reachOf } from '../../formats/architectures.ts'
import { satisfies } from '../../formats/dependencies.ts'
import type { VersionScheme } from '../../formats/ecosystem.ts'
import type { IntakeFormat } from '../../formats/intake-format.ts'
import { providersNamed, type Provider } from '../../gate/capability-query.ts'
import type { Db } from '../../store/db.ts'
import { requirementCounts, requirementsOf } from '../records/inventory-query.ts'
import type { SbomEntry } from './entry.ts'

export interface Edges {
  /** the records that satisfy them, each once, in the order of the requirements */
  providers: Provider[]
  /** strong requirements that neither an offered record nor the package itself satisfies */
  unmet: Requirement[]
}

/** Requirements in memory at the same time, unless one package has more: a package may have 16,384. */
const REQUIREMENTS_AT_ONCE = 2_000
/** Requirements solved, and names looked up, in one turn of the event loop: about 5 ms. */
const SLICE = 500

/** The edges of a page of records. It yields to the event loop when packages have many requirements. */
export async function edgesOf(
  db: Db,
  entries: readonly SbomEntry[],
  formatOf: (entry: SbomEntry) => IntakeFormat,
): Promise<Map<number, Edges>> {
  const edges = new Map<number, Edges>()
  for (const codename of new Set(entries.map(({ row }) => row.distribution))) {
    const here = entries.filter(({ row }) => row.distribution === codename)
    for (const group of await groupsOf(db, here)) {
      const requirements = await requirementsOf(
        db,
        group.map(({ row }) => row.sha256),
      )
      const strong = (entry: SbomEntry) =>
        (requirements.get(entry.row.sha256) ?? []).filter((requirement) => requirement.strong)
      const names = new Set(
        group.flatMap((entry) => strong(entry).flatMap(({ anyOf }) => anyOf.map(({ name }) => name))),
      )
      const offers = await offersOf(db, codename, [...names])
      for (const entry of group) edges.set(entry.row.id, await solve(entry, strong(entry), offers, formatOf(entry)))
    }
  }
  return edges
}

/** Splits a page into groups with few requirements. A package with many is a separate group. */
async function groupsOf(db: Db, entries: readonly SbomEntry[]): Promise<SbomEntry[][]> {
  const counts = await requirementCounts(
    db,
    entries.map(({ row }) => row.sha256),
  )
  const groups: SbomEntry[][] = []
  let sum = Infinity
  for (const entry of entries) {
    const count = counts.get(entry.row.sha256) ?? 0
    if (sum + count > REQUIREMENTS_AT_ONCE) {
      groups.push([])
      sum = 0
    }
    groups.at(-1)?.push(entry)
    sum += count
  }
  return groups
}

async function offersOf(db: Db, codename: string, names: readonly string[]): Promise<Map<string, Provider[]>> {
  const offers = new Map<string, Provider[]>()
  for (let at = 0; at < names.length; at += SLICE) {
    await turn()
    for (const [name, providers] of await providersNamed(db, codename, names.slice(at, at + SLICE)))
      offers.set(name, providers)
  }
  return offers
}

async function solve(
  { row, distribution }: SbomEntry,
  requirements: readonly Requirement[],
  offers: ReadonlyMap<string, readonly Provider[]>,
  format: IntakeFormat,
): Promise<Edges> {
  const { versions } = format
  const reach = reachOf(row, format, distribution)
  const providers = new Map<number, Provider>()
  const unmet: Requirement[] = []
  for (const [n, requirement] of requirements.entries()) {
    if (n % SLICE === SLICE - 1) await turn()
    const fitting = requirement.anyOf.map((relation) =>
      (offers.get(relation.name) ?? []).filter((offer) => satisfies(relation, offer, versions, reach)),
    )
    // A requirement that the package itself satisfies is not an edge.
    if (fitting.some((offers) => offers.some((offer) => offer.id === row.id))) continue
    const best = fitting.map((offers) => bestOf(offers, versions)).find((offer) => offer !== null)
    if (best) providers.set(best.id, best)
    else unmet.push(requirement)
  }
  return { providers: [...providers.values()], unmet }
}

/** Prefers the package of that name to others that provide it, then the newest version; name and architecture break ties. */
function bestOf(offers: readonly Provider[], versions: VersionScheme): Provider | null {
  const isNamed = (offer: Provider) => Number(offer.package === offer.capability)
  const better = (a: Provider, b: Provider) =>
    isNamed(a) - isNamed(b) ||
    versions.compare(a.packageVersion, b.packageVersion) ||
    (a.package === b.package ? 0 : a.package < b.package ? 1 : -1) ||
    (a.arch === b.arch ? 0 : a.arch < b.arch ? 1 : -1)
  return offers.reduce<Provider | null>((best, offer) => (best && better(best, offer) >= 0 ? best : offer), null)
}

/** The text of a requirement, and the package name in it if there is one. */
export function namedIn(requirement: Requirement): { text: string; name: string | null } {
  const [first] = requirement.anyOf
  // Sonames, paths and other capabilities are not names of packages.
  return { text: requirement.text, name: first && /^[A-Za-z0-9][A-Za-z0-9+._-]*$/.test(first.name) ? first.name : null }
}
