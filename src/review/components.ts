// The dependency scan: reads what libraries lie in stored files and holds records whose libraries have holes. Never blocks one.
import type { Finding } from '../domain/finding.ts'
import { isProblem } from '../domain/problem.ts'
import { isoTime } from '../kernel/clock.ts'
import { createShared } from '../kernel/shared.ts'
import {
  COMPONENT_ECOSYSTEMS,
  COMPONENT_ENGINE,
  componentKey,
  type ComponentMatcher,
} from '../scanners/components/match.ts'
import { mayHoldComponent, readComponents } from '../scanners/components/read.ts'
import { unpackFiles } from '../store/files/blobs.ts'
import type { Components, ComponentsOf, ComponentWork } from '../store/files/components.ts'
import { applyFindings, type Applied } from './apply.ts'
import { sameCoverage } from './assess.ts'
import { mergeFindings, sameFindings } from './merge.ts'
import { factsOf, systemActor, type Actor, type ReviewDeps } from './deps.ts'

export interface ComponentScanParts extends ReviewDeps {
  components: Components
  matcher: ComponentMatcher
  /** whether this process does work that one process is enough for */
  mayWork(): boolean
}

export interface ComponentReport {
  /** records that were looked at */
  records: number
  /** of them back in review */
  reopened: number
  /** looked at again by the next run */
  failed: number
}

/** What changed in the advisories, as far as it is about libraries. */
export interface LibraryNews {
  complete: boolean
  packages: readonly { ecosystem: string; package: string | null }[]
}

export interface ComponentScan {
  /** Looks at every record that was not looked at since it came in; records that came meanwhile are the next run's. */
  catchUp(): Promise<ComponentReport>
  /** Asks for such a run, where this process may work; nobody waits for it. */
  nudge(): void
  /** Records whose libraries the news are about. */
  touched(news: LibraryNews): Promise<number[]>
  /** Those of these records that have libraries. */
  among(ids: readonly number[]): Promise<number[]>
  /** Records that have this vulnerability, and libraries. */
  about(cve: string): Promise<number[]>
  /** Those of which the advisories say what their record says already: of most that news concern. At most some hundred at once. */
  unchanged(ids: readonly number[]): Promise<Set<number>>
  /** Matches a record's libraries again. @returns null when it has none, was not read yet, or is gone */
  match(id: number, mechanism: 'rematch' | 'rescan', actor: Actor): Promise<Applied | null>
  /** Ends after the record at hand. */
  stop(): Promise<void>
}

const PAGE = 100
type MatchOf = Awaited<ReturnType<ComponentMatcher['match']>>[number]
/** Advisories may be replaced while a record is matched; not more often than this. */
const ATTEMPTS = 5

/**
 * A record's libraries are read after it was settled, from its stored file: no upload waits for it. Which records are
 * still to be looked at stands in the database (`component_work`), so a crash loses nothing, and a look is repeatable.
 */
export function createComponentScan(parts: ComponentScanParts): ComponentScan {
  const { db, components, matcher } = parts
  const matching = () => parts.settings().validation.grype_scan
  let stopping = false
  let nudged: Promise<unknown> = Promise.resolve()

  const catchUp = createShared(async () => {
    const report: ComponentReport = { records: 0, reopened: 0, failed: 0 }
    for (let after = 0; ;) {
      const work = await components.work(after, PAGE, !matching())
      // The list of files is at hand: most packages need not be opened.
      const nothing = work.filter(({ files }) => files !== null && !unpackFiles(files).some(mayHoldComponent))
      await components.nothingInside(nothing, parts.clock.now())
      report.records += nothing.length
      for (const one of work) {
        if (stopping) return report
        if (nothing.includes(one)) continue
        await lookAt(one, report).catch((error: unknown) => {
          report.failed++
          parts.onError(error)
        })
      }
      if (work.length < PAGE) return report
      after = work.at(-1)?.id ?? after
    }
  })

  async function lookAt(work: ComponentWork, report: ComponentReport): Promise<void> {
    const inside = (await components.of(work.sha256)) ?? (await read(work))
    if (!inside || !matching()) return
    const applied =
      work.status !== 'rejected' ? await matchOne(work.id, inside, 'dependency_scan', systemActor('system')) : null
    await components.done(work)
    report.records++
    if (applied?.before.status === 'published' && applied.row.status === 'pending_review') report.reopened++
  }

  /** Null while the bytes are nowhere: what that means is not for this room to say. */
  async function read({ sha256, format, distribution, filename }: ComponentWork): Promise<ComponentsOf | null> {
    const path = await parts.pool.locate({ sha256, format, filename })
    if (path === null) return null
    const seen = await readComponents({
      members: parts.offered(distribution).format.members(path),
      filename,
      newPath: parts.staging.newPath,
    })
    const inside = {
      ...seen,
      components: seen.components.map((component) => ({ ...component, key: componentKey(component) })),
    }
    await components.keep(sha256, inside, parts.clock.now())
    return inside
  }

  async function matchOne(
    id: number,
    inside: ComponentsOf,
    mechanism: 'dependency_scan' | 'rematch' | 'rescan',
    actor: Actor,
  ): Promise<Applied | null> {
    if (inside.components.length === 0 && inside.skipped.length === 0) return null
    let first: Applied | null = null
    try {
      for (let attempt = 1; ; attempt++) {
        const generation = await matcher.generation()
        const [carrier] = carriersOf(await identities([id]), () => inside)
        if (!carrier) return null
        const [{ findings, coverage }] = (await matcher.match([carrier])) as [MatchOf]
        const applied = await applyFindings(
          parts,
          id,
          { engine: COMPONENT_ENGINE, findings },
          { mechanism, components: coverage },
          actor,
        )
        first ??= applied
        // A re-match that came between may have known more: what is applied last must be matched against the newest.
        if (attempt === ATTEMPTS || (await matcher.generation()) === generation)
          return { ...applied, before: first.before }
      }
    } catch (error) {
      if (isProblem(error, 'not_found')) return null
      throw error
    }
  }

  /** What the records say of themselves, and of their findings. */
  const identities = (ids: readonly number[]) =>
    db
      .selectFrom('packages')
      .select([
        'id',
        'sha256',
        'format',
        'name',
        'version',
        'arch',
        'distribution',
        'source_package',
        'source_version',
        'cve_results',
        'coverage',
      ])
      .where('id', 'in', ids)
      .execute()
  type Identity = Awaited<ReturnType<typeof identities>>[number]

  /** Those of them of which is known what lies inside. */
  const carriersOf = (rows: readonly Identity[], insideOf: (row: Identity) => ComponentsOf | undefined) =>
    rows.flatMap((row) => {
      const inside = insideOf(row)
      const { distribution } = parts.offered(row.distribution)
      return inside ? [{ row, inside, distribution, facts: factsOf(row) }] : []
    })

  return {
    catchUp,

    nudge() {
      if (!stopping && parts.mayWork()) nudged = catchUp().catch(parts.onError)
    },

    touched({ complete, packages }) {
      const names = new Map<string, string[] | null>()
      for (const ecosystem of COMPONENT_ECOSYSTEMS) {
        const about = packages.filter((change) => change.ecosystem === ecosystem)
        if (!complete || about.some((change) => change.package === null)) names.set(ecosystem, null)
        else if (about.length > 0)
          names.set(
            ecosystem,
            about.flatMap((change) => change.package ?? []),
          )
      }
      return components.recordsWith(names)
    },

    about: (cve) => components.recordsAbout(cve),
    among: (ids) => components.recordsAmong(ids),

    async unchanged(ids) {
      const rows = await identities(ids)
      const insides = await components.ofMany(rows.map((row) => row.sha256))
      const read = carriersOf(rows, (row) => insides.get(row.sha256))
      const matches = await matcher.match(read)
      const now = isoTime(parts.clock.now())
      const same = read.filter(({ row }, i) => {
        const { findings, coverage } = matches[i] as MatchOf
        const known = (row.cve_results ?? []) as Finding[]
        const merged = mergeFindings(
          known,
          { engine: COMPONENT_ENGINE, findings },
          parts.engines,
          parts.settings().cve_policy,
          now,
        )
        return sameFindings(known, merged) && sameCoverage(row.coverage['dependency_scan'], coverage)
      })
      return new Set(same.map(({ row }) => row.id))
    },

    async match(id, mechanism, actor) {
      if (!matching()) return null
      const row = await db.selectFrom('packages').select('sha256').where('id', '=', id).executeTakeFirst()
      const inside = row ? await components.of(row.sha256) : null
      return inside ? matchOne(id, inside, mechanism, actor) : null
    },

    async stop() {
      stopping = true
      await nudged
    },
  }
}
