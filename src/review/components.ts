// The dependency scan: reads the components in stored files, and sends records with vulnerable components to review.
import { withAction } from '../domain/decide.ts'
import { vulnerabilities, type Finding } from '../domain/finding.ts'
import { isProblem } from '../domain/problem.ts'
import { isoTime } from '../kernel/clock.ts'
import { createShared } from '../kernel/shared.ts'
import { seenBy } from '../gate/cve-scan.ts'
import {
  COMPONENT_ECOSYSTEMS,
  COMPONENT_ENGINE,
  componentKey,
  type ComponentMatcher,
} from '../gate/engines/components/match.ts'
import { mayHoldComponent } from '../gate/engines/components/read.ts'
import { unpackFiles } from '../domain/packed-facts.ts'
import type { Components, ComponentsOf, ComponentWork } from '../store/files/components.ts'
import type { ComponentReading } from './component-reading/reading.ts'
import { applyFindings, type Applied } from './apply.ts'
import { sameCoverage } from './assess.ts'
import { mergeFindings, sameFindings } from './merge.ts'
import { factsOf, systemActor, type Actor, type ReviewDeps } from './deps.ts'

export interface ComponentScanDeps extends ReviewDeps {
  components: Components
  matcher: ComponentMatcher
  readComponents: ComponentReading
  /** whether this process does the work that one process of several should do */
  mayWork(): boolean
}

export interface ComponentReport {
  /** records that were scanned */
  records: number
  /** of these records, those that went back to review */
  reopened: number
  /** records that the next run scans again */
  failed: number
}

/** What changed in the advisories about components. */
export interface ComponentNews {
  complete: boolean
  packages: readonly { ecosystem: string; package: string | null }[]
}

export interface ComponentScan {
  /** Scans every record that was not scanned yet. The next run scans records that arrive meanwhile. */
  catchUp(): Promise<ComponentReport>
  /** Starts such a run in the background, if this process does this work. */
  nudge(): void
  /** Ids of records with a component that these advisories concern. */
  touched(news: ComponentNews): Promise<number[]>
  /** Those of these records that have components. */
  among(ids: readonly number[]): Promise<number[]>
  /** Ids of records that have this vulnerability and components. */
  about(cve: string): Promise<number[]>
  /** Those of these records (some hundred at most) whose findings a new match would leave the same. */
  unchanged(ids: readonly number[]): Promise<Set<number>>
  /** Matches a record's components again. @returns null when it has none, was not read yet, or is gone */
  match(id: number, mechanism: 'rematch' | 'rescan', actor: Actor): Promise<Applied | null>
  /** Stops after the current record. */
  stop(): Promise<void>
}

const PAGE = 100
type MatchOf = Awaited<ReturnType<ComponentMatcher['match']>>[number]
/** How often a record is matched again because the advisories changed meanwhile. */
const ATTEMPTS = 5

/**
 * Components are read from the stored file after the upload was answered. The table `component_work` lists the records
 * still to scan, so a crash loses none, and scanning one twice is harmless.
 */
export function createComponentScan(deps: ComponentScanDeps): ComponentScan {
  const { db, components, matcher } = deps
  const matching = () => deps.settings().validation.grype_scan
  let stopping = false
  let nudged: Promise<unknown> = Promise.resolve()

  const catchUp = createShared(async () => {
    const report: ComponentReport = { records: 0, reopened: 0, failed: 0 }
    for (let after = 0; ;) {
      const work = await components.work(after, PAGE, !matching())
      // Most packages need not be opened, because their list of file names is stored.
      const without = work.filter(({ files }) => files !== null && !unpackFiles(files).some(mayHoldComponent))
      await components.nothingInside(without, deps.clock.now())
      report.records += without.length
      for (const one of work) {
        if (stopping) return report
        if (without.includes(one)) continue
        await scanRecord(one, report).catch((error: unknown) => {
          report.failed++
          deps.onError(error)
        })
      }
      if (work.length < PAGE) return report
      after = work.at(-1)?.id ?? after
    }
  })

  async function scanRecord(work: ComponentWork, report: ComponentReport): Promise<void> {
    const contents = (await components.of(work.sha256)) ?? (await read(work))
    if (!contents || !matching()) return
    const applied =
      work.status !== 'rejected' ? await matchOne(work.id, contents, 'dependency_scan', systemActor('system')) : null
    await components.done(work)
    report.records++
    if (applied?.before.status === 'published' && applied.row.status === 'pending_review') report.reopened++
  }

  /** Null when the stored file is missing. */
  async function read({ sha256, format, filename }: ComponentWork): Promise<ComponentsOf | null> {
    const seen = await deps.pool.withFile({ sha256, format, filename }, (path) =>
      deps.readComponents(format, path, filename),
    )
    if (seen === null) return null
    const contents = {
      ...seen,
      components: seen.components.map((component) => ({ ...component, key: componentKey(component) })),
    }
    await components.keep(sha256, contents, deps.clock.now())
    return contents
  }

  async function matchOne(
    id: number,
    contents: ComponentsOf,
    mechanism: 'dependency_scan' | 'rematch' | 'rescan',
    actor: Actor,
  ): Promise<Applied | null> {
    if (contents.components.length === 0 && contents.skipped.length === 0) return null
    let first: Applied | null = null
    try {
      for (let attempt = 1; ; attempt++) {
        const generation = await matcher.generation()
        const [carrier] = carriersOf(await identities([id]), () => contents)
        if (!carrier) return null
        const [{ findings, coverage }] = (await matcher.match([carrier])) as [MatchOf]
        const message = `${vulnerabilities(findings.length)} in ${contents.components.length} components`
        const applied = await applyFindings(
          deps,
          id,
          { engine: COMPONENT_ENGINE, findings },
          {
            mechanism,
            components: coverage,
            kept: [seenBy({ result: 'scanned', message, coverage, findings }, deps.clock.now(), 'dependency_scan')],
          },
          actor,
        )
        first ??= applied
        // Only a match against the newest advisories may be the last one applied.
        if (attempt === ATTEMPTS || (await matcher.generation()) === generation)
          return { ...applied, before: first.before }
      }
    } catch (error) {
      if (isProblem(error, 'not_found')) return null
      throw error
    }
  }

  /** The columns that matching needs. */
  const identities = (ids: readonly number[]) =>
    db
      .selectFrom('records')
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

  /** Those of the records whose components were read. */
  const carriersOf = (rows: readonly Identity[], contentsOf: (row: Identity) => ComponentsOf | undefined) =>
    rows.flatMap((row) => {
      const contents = contentsOf(row)
      const { distribution } = deps.offered(row.distribution)
      return contents ? [{ row, contents, distribution, facts: factsOf(row) }] : []
    })

  return {
    catchUp,

    nudge() {
      if (!stopping && deps.mayWork()) nudged = catchUp().catch(deps.onError)
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
      const contentsBySha256 = await components.ofMany(rows.map((row) => row.sha256))
      const read = carriersOf(rows, (row) => contentsBySha256.get(row.sha256))
      const matches = await matcher.match(read)
      const now = isoTime(deps.clock.now())
      const same = read.filter(({ row }, i) => {
        const { findings, coverage } = matches[i] as MatchOf
        const known = (row.cve_results ?? []) as Finding[]
        const merged = mergeFindings(known, { engine: COMPONENT_ENGINE, findings }, deps.engines, now)
        const judged = merged.map((one) => withAction(deps.settings(), one))
        return sameFindings(known, judged) && sameCoverage(row.coverage['dependency_scan'], coverage)
      })
      return new Set(same.map(({ row }) => row.id))
    },

    async match(id, mechanism, actor) {
      if (!matching()) return null
      const row = await db.selectFrom('packages').select('sha256').where('id', '=', id).executeTakeFirst()
      const contents = row ? await components.of(row.sha256) : null
      return contents ? matchOne(id, contents, mechanism, actor) : null
    },

    async stop() {
      stopping = true
      await nudged
    },
  }
}
