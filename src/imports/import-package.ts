// Imports one package of a source: fetches it, verifies its digest, then accepts it as an upload is accepted.
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { IntakeResult } from '../packages/arrival.ts'
import { openDistribution, type FormatRegistry } from '../packages/identify.ts'
import type { Intake } from '../intake/intake.ts'
import { reservedProblem } from '../packages/reserved-names.ts'
import type { Db } from '../store/db.ts'
import { reservationsOf } from '../store/reservations.ts'
import type { SourceRow } from '../store/tables.ts'
import type { Upstreams } from '../upstream/upstream.ts'
import { catalogEntry } from './catalog-query.ts'
import { sourceOf } from './fetch-entry.ts'
import { neededBy } from './import-requested.ts'
import type { ImportedPackage, ImportMany, Wanted } from './import-many.ts'
import { upstreamOf } from './source-view.ts'
import type { Sources } from './sources.ts'

export interface ImportRequest {
  source_id: number
  package: string
  version: string
  arch: string
  /** codename of the distribution that takes it */
  distribution: string
  /** also imports what it needs and the distribution does not have */
  with_dependencies?: boolean | undefined
}

export interface ImportDeps {
  db: Db
  sources: Pick<Sources, 'find'>
  upstreams: Pick<Upstreams, 'open'>
  intake: Pick<Intake, 'accept'>
  importMany: ImportMany
  registry: FormatRegistry
  /** a new path in staging */
  newPath(): string
}

/**
 * @throws Problem('not_found') when the source or the package is unknown, 'index_empty' when it was never synced,
 * 'upstream_error', also when the bytes differ from those listed, and what the intake throws
 */
export type ImportPackage = (
  request: ImportRequest,
  caller: Caller,
  origin: Origin,
) => Promise<{ result: IntakeResult; source: SourceRow; dependencies: ImportedPackage[] }>

export function createImportPackage(deps: ImportDeps): ImportPackage {
  return async (request, caller, origin) => {
    const source = await deps.sources.find(String(request.source_id))
    if (!source.last_sync) throw new Problem('index_empty', `${source.name} was never synced`, { source_id: source.id })
    const { package: name, version, arch } = request
    const entry = await catalogEntry(deps.db, source.id, { name, version, arch })
    if (!entry) throw new Problem('not_found', `${source.name} does not offer ${name} ${version} (${arch})`)
    // Checked before anything is fetched; the intake checks again with the facts of the file.
    const offered = deps.registry.find(request.distribution)
    const reserved =
      offered && reservedProblem(await reservationsOf(deps.db, offered.format.id), offered.format, entry, source.id)
    const dependencies =
      request.with_dependencies && !reserved
        ? await importDependencies(deps, { source, entry }, request.distribution, caller, origin)
        : []
    const open = async () => {
      // Thrown inside the intake, which audits it.
      if (reserved) throw reserved
      return deps.upstreams.open(upstreamOf(source))
    }
    const result = await deps.intake.accept(sourceOf({ source, entry }, request.distribution, open, deps.newPath), {
      method: 'import',
      importedBy: caller.name,
      origin,
      scopes: caller.scopes ?? null,
    })
    return { result: withWithheld(result, dependencies), source, dependencies }
  }
}

/** Sentences about dependencies in one answer. */
const MOST_WARNINGS = 20

/** Adds the dependencies that were not published to the answer: the gate's step checks direct requirements only. */
function withWithheld(result: IntakeResult, dependencies: readonly ImportedPackage[]): IntakeResult {
  const withheld = dependencies.filter(({ record_status }) => record_status !== 'published')
  if (withheld.length === 0) return result
  const sentences = withheld.slice(0, MOST_WARNINGS).map(sentenceOf)
  const more = withheld.length - sentences.length
  const message = `cannot be installed yet: ${sentences.slice(0, 3).join('; ')}${withheld.length > 3 ? '; …' : ''}`
  const isOther = result.pipeline.dependencies !== 'satisfied'
  return {
    ...result,
    warnings: [...sentences, ...(more > 0 ? [`${more} more dependencies are not published`] : []), ...result.warnings],
    pipeline: isOther ? result.pipeline : { ...result.pipeline, dependencies: 'missing' },
    validation: {
      ...result.validation,
      steps: result.validation.steps.map((step) =>
        step.name === 'dependencies' && !isOther ? { ...step, message, warning: true } : step,
      ),
    },
  }
}

function sentenceOf({ package: name, version, arch, record_status: status, detail }: ImportedPackage): string {
  const subject = `the dependency ${name} ${version} (${arch})`
  if (status === null) return `${subject} could not be imported: ${detail ?? 'unknown'}`
  return `${subject} is ${status === 'pending_review' ? 'held for review' : status}`
}

/** Runs before the package itself is imported, so that its dependency check finds them. */
async function importDependencies(
  { db, importMany, registry }: ImportDeps,
  root: Wanted,
  distribution: string,
  caller: Caller,
  origin: Origin,
): Promise<ImportedPackage[]> {
  const results: ImportedPackage[] = []
  const needed = await neededBy(db, openDistribution(registry, distribution), [root], new Set())
  const meta = { method: 'import' as const, group: null, by: caller.name, origin, scopes: caller.scopes ?? null }
  await importMany(needed, distribution, meta, (result) => void results.push(result))
  return results
}
