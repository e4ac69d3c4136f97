// What a document tells of, as the rooms that write documents ask for it: one package with what it needs, or all that is offered.
import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Finding } from '../domain/finding.ts'
import type { Capability, Distribution, Requirement } from '../domain/package.ts'
import { unsatisfied } from '../formats/dependencies.ts'
import type { Offered, PackageFormat } from '../formats/format.ts'
import { filesAmong } from '../store/files/blobs.ts'
import { activeDecisions } from '../store/records/decisions.ts'
import type { DecisionRow } from '../store/tables.ts'
import type { Db } from '../store/db.ts'
import {
  findingPages,
  inventoryPages,
  inventoryRows,
  vulnerabilityPages,
  type InventoryRow,
  type Provider,
} from '../store/records/inventory-query.ts'
import { edgesOf, namedIn } from './edges.ts'
import { entryOf, latest, refOf, spdxIdOf, type Entry } from './entry.ts'
import { purlOf, type EmbeddedComponent } from './purl.ts'

/** Records that are in memory at once. */
const PAGE = 100
/** Findings that are in memory at once: one may be some kilobytes. */
const FINDINGS = 500

export interface ContentsParts {
  db: Db
  find(codename: string): Offered | null
  /** components of other ecosystems found inside these records, by their ids */
  embedded?(rows: readonly InventoryRow[]): Promise<ReadonlyMap<number, readonly EmbeddedComponent[]>>
}

/** Something a package needs that is not offered here: known by name only. */
export interface Stub {
  name: string
  /** null for what is no package's name */
  purl: string | null
  ref: string
  spdxId: string
  requirement: string
}

export interface Named {
  ref: string
  spdxId: string
}

export interface Vulnerability {
  entry: Entry
  finding: Finding
  /** decisions in force on the record, newest first */
  standing: readonly DecisionRow[]
}

/** The lists may be read one after another, `components` first: what is not among them is in no other list. */
export interface Contents {
  /** the package it is about; null for all that is offered */
  subject: Entry | null
  /** of which distribution; null for all */
  distribution: Distribution | null
  components(): AsyncIterable<Entry>
  stubs: readonly Stub[]
  /** what each component depends on */
  dependencies(): AsyncIterable<{ entry: Entry; on: readonly Named[] }>
  vulnerabilities(): AsyncIterable<Vulnerability>
  /** one finding for each vulnerability, the worst, by id */
  kinds(): AsyncIterable<Finding>
  /** the newest moment of all that was read so far; null when nothing was */
  time(): Date | null
}

/** All that is offered, or the first `limit` records of it. */
export function repositoryContents(parts: ContentsParts, codename: string | undefined, limit = Infinity): Contents {
  const { db } = parts
  const filter = { distribution: codename }
  const listed = new Set<number>()
  let time: Date | null = null

  /** What `components` listed, as it is now: what came or went since is in no list. */
  async function* again(withFindings: boolean) {
    if (limit !== Infinity) {
      const rows = await inventoryRows(db, [...listed])
      yield await entriesOf(
        parts,
        [...listed].flatMap((id) => rows.get(id) ?? []),
      )
      return
    }
    for await (const rows of inventoryPages(db, { ...filter, withFindings }, PAGE)) {
      const known = rows.filter((row) => listed.has(row.id))
      if (known.length > 0) yield await entriesOf(parts, known)
    }
  }

  return {
    subject: null,
    distribution: codename === undefined ? null : (parts.find(codename)?.distribution ?? null),
    stubs: [],
    async *components() {
      for await (const rows of inventoryPages(db, filter, Math.min(PAGE, limit))) {
        for (const entry of await entriesOf(parts, rows.slice(0, limit - listed.size))) {
          listed.add(entry.row.id)
          time = latest(time, entry.row.imported_at, entry.row.last_scan)
          yield entry
        }
        if (listed.size >= limit) return
      }
    },
    async *dependencies() {
      for await (const entries of again(false)) {
        const edges = await edgesOf(db, entries, ({ row }) => formatOf(parts, row).versions)
        for (const entry of entries) {
          const providers = edges.get(entry.row.id)?.providers ?? []
          yield { entry, on: providers.filter(({ id }) => listed.has(id)).map((provider) => namesOf(entry, provider)) }
        }
      }
    },
    async *vulnerabilities() {
      for await (const entries of again(true)) {
        for await (const vulnerability of vulnerabilitiesOf(db, entries)) {
          time = latest(time, ...vulnerability.standing.map((decision) => decision.decided_at))
          yield vulnerability
        }
      }
    },
    async *kinds() {
      for await (const page of vulnerabilityPages(db, filter, FINDINGS)) {
        await turn()
        yield* page
      }
    },
    time: () => time,
  }
}

/** One record and what its distribution offers for its requirements. */
export async function packageContents(parts: ContentsParts, id: number): Promise<Contents | null> {
  const { db } = parts
  const row = (await inventoryRows(db, [id])).get(id)
  if (!row) return null
  const [subject] = await entriesOf(parts, [row])
  if (!subject) return null
  const { providers, stubs } = await needsOf(parts, subject)
  const needed: Entry[] = []
  for (let at = 0; at < providers.length; at += PAGE) {
    const ids = providers.slice(at, at + PAGE).map((provider) => provider.id)
    needed.push(...(await entriesOf(parts, [...(await inventoryRows(db, ids)).values()])))
  }
  needed.sort((a, b) => (a.ref < b.ref ? -1 : 1))
  const standing = (await activeDecisions(db, [id])).get(id) ?? []
  const time = latest(
    row.imported_at,
    row.last_scan,
    ...needed.map((entry) => entry.row.imported_at),
    ...standing.map((decision) => decision.decided_at),
  )
  return {
    subject,
    distribution: subject.distribution,
    stubs,
    async *components() {
      yield subject
      yield* needed
    },
    async *dependencies() {
      yield { entry: subject, on: [...needed, ...stubs] }
      for (const entry of needed) yield { entry, on: [] }
    },
    vulnerabilities: () => vulnerabilitiesOf(db, [subject]),
    async *kinds() {
      for await (const page of vulnerabilityPages(db, { packageId: id }, FINDINGS)) {
        await turn()
        yield* page
      }
    },
    time: () => time,
  }
}

async function needsOf(parts: ContentsParts, subject: Entry): Promise<{ providers: Provider[]; stubs: Stub[] }> {
  const { row, distribution } = subject
  const format = formatOf(parts, row)
  const { versions } = format
  const edges = (await edgesOf(parts.db, [subject], () => versions)).get(row.id)
  if (!edges) return { providers: [], stubs: [] }
  // What the package satisfies itself is no edge; a package that is not offered is not among the providers.
  const foreign = unsatisfied(await ownOffers(parts.db, subject, edges.unmet), new Map(), versions)
  const stubs: Stub[] = []
  for (const [n, requirement] of foreign.entries()) {
    if (n % PAGE === PAGE - 1) await turn()
    // `rpmlib(…)` is a capability of the package manager.
    if (!requirement.text.startsWith('rpmlib(')) stubs.push(stubOf(requirement, row, { distribution, format }))
  }
  return {
    providers: edges.providers,
    stubs: [...new Map(stubs.map((stub) => [stub.ref, stub])).values()].sort((a, b) => (a.ref < b.ref ? -1 : 1)),
  }
}

function stubOf(requirement: Requirement, row: InventoryRow, offered: Offered): Stub {
  const { name, text } = namedIn(requirement)
  const ref = `${encodeURIComponent(row.distribution)}?${encodeURIComponent(text)}`
  const purl = name === null ? null : purlOf({ name, version: null, arch: null }, offered)
  return { name: name ?? text, purl, ref, spdxId: spdxIdOf(name ?? text, ref), requirement: text }
}

/** What a package offers by itself to these requirements. */
async function ownOffers(db: Db, { row }: Entry, requirements: Requirement[]) {
  const paths = requirements.flatMap(({ anyOf }) => anyOf.flatMap(({ name }) => (name.startsWith('/') ? [name] : [])))
  const { provides, files } = await db
    .selectFrom('blobs')
    .select(['files', sql<Capability[] | null>`facts->'provides'`.as('provides')])
    .where('sha256', '=', row.sha256)
    .executeTakeFirstOrThrow()
  return {
    name: row.name,
    version: row.version,
    provides: provides ?? [],
    requirements,
    files: paths.length > 0 ? await filesAmong(files, new Set(paths.map((path) => path.slice(1)))) : [],
  }
}

/** Every page comes through here: an embedded database answers within the same turn, and others would never have theirs. */
async function entriesOf(parts: ContentsParts, rows: readonly InventoryRow[]): Promise<Entry[]> {
  await turn()
  const embedded = (await parts.embedded?.(rows)) ?? new Map<number, readonly EmbeddedComponent[]>()
  return rows.flatMap((row) => {
    // A distribution that this release does not know any more has no words for its packages.
    const found = parts.find(row.distribution)
    return found ? [entryOf(row, found, embedded.get(row.id))] : []
  })
}

async function* vulnerabilitiesOf(db: Db, entries: readonly Entry[]): AsyncGenerator<Vulnerability, void, void> {
  const byId = new Map(entries.map((entry) => [entry.row.id, entry]))
  const decisions = await activeDecisions(db, [...byId.keys()])
  for await (const page of findingPages(db, [...byId.keys()], FINDINGS)) {
    await turn()
    for (const { package_id: id, finding } of page)
      yield { entry: byId.get(id) as Entry, finding, standing: decisions.get(id) ?? [] }
  }
}

function formatOf(parts: ContentsParts, row: InventoryRow): PackageFormat {
  return (parts.find(row.distribution) as { format: PackageFormat }).format
}

function namesOf(entry: Entry, provider: Provider): Named {
  const ref = refOf({
    distribution: entry.row.distribution,
    name: provider.package,
    version: provider.version,
    arch: provider.arch,
  })
  return { ref, spdxId: spdxIdOf(provider.package, ref) }
}
