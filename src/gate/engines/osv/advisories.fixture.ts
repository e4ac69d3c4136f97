// Advisories kept in memory, and archives made of records, for the tests of this folder.
import { zip } from '../../../formats/archive/zip.fixture.ts'
import type { Advisory, AffectedPackage } from '../../../domain/advisory.ts'
import { Problem } from '../../../domain/problem.ts'
import type { FeedState, NewAdvisory } from '../../../domain/advisory-store.ts'
import type { AdvisoryReader, AdvisoryWriter } from './advisories.ts'

/** Orders numbers, dotted: enough to tell versions apart here. */
export function compareDotted(_format: string, a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(/[^0-9]+/).map(Number))
  for (let i = 0; i < Math.max(left!.length, right!.length); i++) {
    const difference = (left![i] ?? 0) - (right![i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

export function memoryAdvisories(clock: { now(): Date }): AdvisoryReader & AdvisoryWriter {
  const feeds = new Map<string, FeedState & { records: Map<string, NewAdvisory> }>()
  let generation = 0
  let busy = false
  const all = () => [...feeds.values()].flatMap((feed) => [...feed.records.values()])
  const ensure = (name: string) => {
    const made = feeds.get(name) ?? {
      name,
      digest: null,
      advisories: 0,
      importedAt: null,
      checkedAt: null,
      error: null,
      records: new Map<string, NewAdvisory>(),
    }
    feeds.set(name, made)
    return made
  }
  return {
    async state() {
      const ecosystems: Record<string, { entries: number; newest: string | null }> = {}
      for (const { advisory, affected } of all()) {
        for (const { ecosystem } of affected) {
          const before = ecosystems[ecosystem] ?? { entries: 0, newest: null }
          ecosystems[ecosystem] = {
            entries: before.entries + 1,
            newest: [before.newest ?? '', advisory.modified].sort().at(-1)!,
          }
        }
      }
      return { generation, ecosystems }
    },
    async candidates(_generation, ecosystems, names) {
      return all().flatMap(({ affected }, key) =>
        affected
          .filter((entry: AffectedPackage) => ecosystems.includes(entry.ecosystem) && names.includes(entry.package))
          .map((entry) => ({ key, affected: entry })),
      )
    },
    async advisories(keys) {
      const rows = all()
      return new Map(keys.map((key): [number, Advisory] => [key, rows[key]!.advisory]))
    },
    async feed(name) {
      return feeds.get(name) ?? null
    },
    async noteChecked(name, error) {
      Object.assign(ensure(name), { error }, error === null ? { checkedAt: clock.now() } : {})
    },
    async begin(name) {
      if (busy) throw new Problem('already_running', 'another import is under way')
      busy = true
      const records = new Map(feeds.get(name)?.records ?? [])
      return {
        known: new Map(
          [...records].map(([id, { digest, source, advisory }]) => [
            id,
            { digest, source, modified: advisory.modified },
          ]),
        ),
        async put(batch) {
          for (const record of batch) records.set(record.advisory.id, record)
        },
        async finish({ digest, advisories, keep }) {
          const gone = [...records.keys()].filter((id) => !keep(id))
          for (const id of gone) records.delete(id)
          const now = clock.now()
          feeds.set(name, { name, digest, advisories, importedAt: now, checkedAt: now, error: null, records })
          busy = false
          return { generation: ++generation, removed: gone.length }
        },
        async abandon() {
          busy = false
        },
      }
    },
  }
}

/** A record as OSV writes it, with what a test says of it. */
export function record(id: string, more: object = {}): object {
  return { id, modified: '2026-01-01T00:00:00Z', ...more }
}

/** An entry of `affected`: everything before `fixed`, or everything. */
export function affects(ecosystem: string, name: string, fixed?: string, more: object = {}): object {
  const events = [{ introduced: '0' }, ...(fixed === undefined ? [] : [{ fixed }])]
  return { package: { ecosystem, name }, ranges: [{ type: 'ECOSYSTEM', events }], ...more }
}

export const zipOfRecords = (records: readonly object[]): Buffer =>
  zip(records.map((one) => [`${(one as { id: string }).id}.json`, Buffer.from(JSON.stringify(one))]))
