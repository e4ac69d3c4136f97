// What a document tells of, as the rooms that write documents ask for it: one package with what it needs, or all that is offered.
import { setImmediate as turn } from 'node:timers/promises'
import type { Finding } from '../domain/finding.ts'
import type { Distribution } from '../domain/package.ts'
import { unsatisfied } from '../formats/dependencies.ts'
import type { Offered, PackageFormat } from '../formats/format.ts'
import { unpackFacts } from '../store/files/blobs.ts'
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
  const offered = await inventoryRows(
    db,
    providers.map((provider) => provider.id),
  )
  const needed = (await entriesOf(parts, [...offered.values()])).sort((a, b) => (a.ref < b.ref ? -1 : 1))
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
  const blob = await parts.db
    .selectFrom('blobs')
    .select(['facts', 'files'])
    .where('sha256', '=', row.sha256)
    .executeTakeFirstOrThrow()
  const foreign = new Set(unsatisfied(unpackFacts(blob), new Map(), versions).map((requirement) => requirement.text))
  const stubs = edges.unmet
    // `rpmlib(…)` is what the package manager can do, not a package.
    .filter(({ text }) => foreign.has(text) && !text.startsWith('rpmlib('))
    .map((requirement): Stub => {
      const { name, text } = namedIn(requirement)
      const ref = `${encodeURIComponent(row.distribution)}?${encodeURIComponent(text)}`
      const purl = name === null ? null : purlOf({ name, version: null, arch: null }, { distribution, format })
      return { name: name ?? text, purl, ref, spdxId: spdxIdOf(name ?? text, ref), requirement: text }
    })
  return {
    providers: edges.providers,
    stubs: [...new Map(stubs.map((stub) => [stub.ref, stub])).values()].sort((a, b) => (a.ref < b.ref ? -1 : 1)),
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
