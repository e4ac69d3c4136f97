// The contents of a document, independent of its format: one package with its dependencies, or everything that is offered.
import { setImmediate as turn } from 'node:timers/promises'
import type { Finding } from '../../domain/finding.ts'
import type { Distribution } from '../../domain/package.ts'
import type { IntakeFormat, Placed } from '../../formats/intake-format.ts'
import type { Provider } from '../../gate/capability-query.ts'
import { createPacer } from '../../kernel/pacer.ts'
import { activeDecisions } from '../records/decisions.ts'
import type { DecisionRow } from '../../store/tables.ts'
import type { Db } from '../../store/db.ts'
import {
  findingPages,
  inventoryPages,
  inventoryRows,
  vulnerabilityPages,
  type InventoryRow,
} from '../records/inventory-query.ts'
import { edgesOf } from './edges.ts'
import { entryOf, latest, refOf, spdxIdOf, type SbomEntry } from './entry.ts'
import { needsOf, type Stub } from './needs.ts'
import type { EmbeddedComponent } from './purl.ts'

/** Most records in memory at the same time. */
const PAGE = 100
/** Most findings in memory at the same time; one may take some kilobytes. */
const FINDINGS = 500

export interface ContentsDeps {
  db: Db
  find(codename: string): Placed | null
  /** components of other ecosystems found inside these records, by record id */
  embedded?(rows: readonly InventoryRow[]): Promise<ReadonlyMap<number, readonly EmbeddedComponent[]>>
}

export interface Named {
  ref: string
  spdxId: string
}

export interface Vulnerability {
  entry: SbomEntry
  finding: Finding
  /** the record's decisions in force, newest first */
  decisions: readonly DecisionRow[]
}

/** Read the lists one after another, `components` first: the other lists refer only to its components. */
export interface Contents {
  /** the package that the document describes; null for a whole repository */
  subject: SbomEntry | null
  /** the distribution; null for all */
  distribution: Distribution | null
  components(): AsyncIterable<SbomEntry>
  stubs: readonly Stub[]
  /** what each component depends on */
  dependencies(): AsyncIterable<{ entry: SbomEntry; on: readonly Named[] }>
  vulnerabilities(): AsyncIterable<Vulnerability>
  /** the worst finding of each vulnerability, sorted by id */
  kinds(): AsyncIterable<Finding>
  /** the newest time in everything read so far; null when nothing was read */
  time(): Date | null
}

/** All offered records, or the first `limit` of them. */
export function repositoryContents(deps: ContentsDeps, codename: string | undefined, limit = Infinity): Contents {
  const { db } = deps
  const filter = { distribution: codename }
  const listed = new Set<number>()
  let time: Date | null = null

  /** The records that `components` returned, in their current state. Records added or removed since are skipped. */
  async function* again(withFindings: boolean) {
    if (limit !== Infinity) {
      const rows = await inventoryRows(db, [...listed])
      yield await entriesOf(
        deps,
        [...listed].flatMap((id) => rows.get(id) ?? []),
      )
      return
    }
    for await (const rows of inventoryPages(db, { ...filter, withFindings }, PAGE)) {
      const known = rows.filter((row) => listed.has(row.id))
      if (known.length > 0) yield await entriesOf(deps, known)
    }
  }

  return {
    subject: null,
    distribution: codename === undefined ? null : (deps.find(codename)?.distribution ?? null),
    stubs: [],
    async *components() {
      for await (const rows of inventoryPages(db, filter, Math.min(PAGE, limit))) {
        for (const entry of await entriesOf(deps, rows.slice(0, limit - listed.size))) {
          listed.add(entry.row.id)
          time = latest(time, entry.row.imported_at, entry.row.last_scan)
          yield entry
        }
        if (listed.size >= limit) return
      }
    },
    async *dependencies() {
      for await (const entries of again(false)) {
        const edges = await edgesOf(db, entries, ({ row }) => formatOf(deps, row))
        for (const entry of entries) {
          const providers = edges.get(entry.row.id)?.providers ?? []
          yield { entry, on: providers.filter(({ id }) => listed.has(id)).map((provider) => namesOf(entry, provider)) }
        }
      }
    },
    async *vulnerabilities() {
      for await (const entries of again(true)) {
        for await (const vulnerability of vulnerabilitiesOf(db, entries)) {
          time = latest(time, ...vulnerability.decisions.map((decision) => decision.decided_at))
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

/** One record and the packages of its distribution that satisfy its requirements. */
export async function packageContents(deps: ContentsDeps, id: number): Promise<Contents | null> {
  const { db } = deps
  const row = (await inventoryRows(db, [id])).get(id)
  if (!row) return null
  const [subject] = await entriesOf(deps, [row])
  if (!subject) return null
  const { providers, stubs } = await needsOf(db, formatOf(deps, row), subject)
  const needed: SbomEntry[] = []
  for (let at = 0; at < providers.length; at += PAGE) {
    const ids = providers.slice(at, at + PAGE).map((provider) => provider.id)
    needed.push(...(await entriesOf(deps, [...(await inventoryRows(db, ids)).values()])))
  }
  needed.sort((a, b) => (a.ref < b.ref ? -1 : 1))
  const decisions = (await activeDecisions(db, [id])).get(id) ?? []
  const time = latest(
    row.imported_at,
    row.last_scan,
    ...needed.map((entry) => entry.row.imported_at),
    ...decisions.map((decision) => decision.decided_at),
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

/** Converts a page of records and yields to the event loop: one record may have thousands of components. */
async function entriesOf(deps: ContentsDeps, rows: readonly InventoryRow[]): Promise<SbomEntry[]> {
  await turn()
  const embedded = (await deps.embedded?.(rows)) ?? new Map<number, readonly EmbeddedComponent[]>()
  const pace = createPacer()
  const entries: SbomEntry[] = []
  for (const row of rows) {
    await pace()
    // A record of a distribution that this release no longer has cannot be described.
    const found = deps.find(row.distribution)
    if (found) entries.push(await entryOf(row, found, embedded.get(row.id) ?? [], pace))
  }
  return entries
}

async function* vulnerabilitiesOf(db: Db, entries: readonly SbomEntry[]): AsyncGenerator<Vulnerability, void, void> {
  const byId = new Map(entries.map((entry) => [entry.row.id, entry]))
  const decisions = await activeDecisions(db, [...byId.keys()])
  for await (const page of findingPages(db, [...byId.keys()], FINDINGS)) {
    await turn()
    for (const { package_id: id, finding } of page)
      yield { entry: byId.get(id) as SbomEntry, finding, decisions: decisions.get(id) ?? [] }
  }
}

function formatOf(deps: ContentsDeps, row: InventoryRow): IntakeFormat {
  return (deps.find(row.distribution) as { format: IntakeFormat }).format
}

function namesOf(entry: SbomEntry, provider: Provider): Named {
  const ref = refOf({
    distribution: entry.row.distribution,
    name: provider.package,
    version: provider.packageVersion,
    arch: provider.arch,
  })
  return { ref, spdxId: spdxIdOf(provider.package, ref) }
}
