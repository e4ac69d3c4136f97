// POST /distributions/promote: one package, or several, each with its own result.
import type { Caller } from '../../domain/caller.ts'
import type { Origin } from '../../domain/audit.ts'
import { invalidField, isProblem, type Problem } from '../../domain/problem.ts'
import type { Previews } from '../../intake/previews.ts'
import type { Promote, PromotionRequest } from '../../packages/copies/promote.ts'
import type { PromoteSeveral, SeveralPromotions } from '../../packages/copies/promote-several.ts'
import { postDistributionsPromote } from './distributions.contract.ts'
import type { Copied } from '../../packages/copies/copy-records.ts'
import { handle, type Route } from '../http/route.ts'

export interface PromotionDeps {
  promote: Promote
  promoteSeveral: PromoteSeveral
  previews: Pick<Previews, 'promotion' | 'promotions'>
}

interface Version {
  package: string
  version: string
  arch: string
  result: 'promoted' | 'already_present'
}

export function promotionRoute(deps: PromotionDeps): Route {
  return handle(postDistributionsPromote, async ({ body, caller, origin }) => {
    const { dry_run = false, packages, package: name, version, arch, ...places } = body
    if (packages) {
      if (name !== undefined || version !== undefined || arch !== undefined)
        throw invalidField('packages', 'stands alone: `package`, `version` and `arch` belong inside')
      const wanted = packages.map((one) => (typeof one === 'string' ? { package: one } : one))
      return promoteAll(deps, { ...places, packages: wanted }, dry_run, caller, origin)
    }
    if (name === undefined) throw invalidField('package', 'is required, or `packages`')
    return promoteOne(deps, { ...places, package: name, version, arch }, dry_run, caller, origin)
  })
}

async function promoteOne(
  deps: PromotionDeps,
  request: PromotionRequest,
  isDry: boolean,
  caller: Caller,
  origin: Origin,
) {
  const { packages, ...preview } = await deps.previews.promotion(request)
  const copied = isDry ? [] : await deps.promote(request, caller, origin)
  const versions = isDry
    ? packages.map(({ version, arch, isPresent }) => versionOf(request.package, { version, arch }, isPresent))
    : copied.map(({ source, row }) => versionOf(request.package, source, row === null))
  const held = heldOf(copied)
  return {
    status: isDry ? 'dry_run' : 'ok',
    message: messageOf(versions, request.to_dist, isDry, held.length),
    package: request.package,
    from: request.from_dist,
    to: request.to_dist,
    versions,
    ...preview,
    warnings: [...preview.warnings, ...held],
  }
}

async function promoteAll(
  deps: PromotionDeps,
  request: SeveralPromotions,
  isDry: boolean,
  caller: Caller,
  origin: Origin,
) {
  const { packages: previewed, ...preview } = await deps.previews.promotions(request)
  const nameOf = (at: number) => request.packages[at]?.package ?? ''
  const promoted = isDry ? [] : await deps.promoteSeveral(request, caller, origin)
  const held = heldOf(promoted.flatMap((one) => ('copied' in one ? one.copied : [])))
  const outcomes: (Version[] | Problem)[] = isDry
    ? previewed.map((one, at) =>
        isProblem(one) ? one : one.map(({ isPresent, ...rest }) => versionOf(nameOf(at), rest, isPresent)),
      )
    : promoted.map((one, at) =>
        'problem' in one
          ? one.problem
          : one.copied.map(({ source, row }) => versionOf(nameOf(at), source, row === null)),
      )
  const versions = outcomes.flatMap((one) => (isProblem(one) ? [] : one))
  const failed = outcomes.filter((one) => isProblem(one)).length
  const message = messageOf(versions, request.to_dist, isDry, held.length)
  return {
    status: isDry ? 'dry_run' : failed === 0 ? 'ok' : 'partial',
    message: failed === 0 ? message : `${message}; ${failed} of ${outcomes.length} packages failed`,
    from: request.from_dist,
    to: request.to_dist,
    results: request.packages.map(({ package: name, version = null, arch = null }, at) => {
      const outcome = outcomes[at]
      const problem = isProblem(outcome) ? outcome : null
      return {
        ...{ package: name, version, arch, status: problem ? ('error' as const) : ('ok' as const) },
        ...{ code: problem?.code ?? null, detail: problem?.detail ?? null },
      }
    }),
    versions,
    ...preview,
    warnings: [...preview.warnings, ...held],
  }
}

/** A sentence for each copy that is not served because of its evidence in the target; each sentence once. */
function heldOf(copied: readonly Copied[]): string[] {
  const rows = copied.flatMap(({ row }) => (row && row.status !== 'published' ? [row] : []))
  const sentences = rows.map(
    ({ name, version, arch, distribution, status }) =>
      `${name} ${version} (${arch}) is ${status} in ${distribution} and not served there`,
  )
  return [...new Set(sentences)]
}

const versionOf = (
  name: string,
  { version, arch }: Pick<Version, 'version' | 'arch'>,
  isPresent: boolean,
): Version => ({
  ...{ package: name, version, arch },
  result: isPresent ? 'already_present' : 'promoted',
})

function messageOf(versions: readonly Version[], to: string, isDry: boolean, held: number): string {
  const count = versions.filter(({ result }) => result === 'promoted').length
  const heldThere = held > 0 ? `, of which ${held} ${held === 1 ? 'is' : 'are'} held there and not served` : ''
  if (count > 0) return `${count} ${isDry ? 'would be ' : ''}promoted to ${to}${heldThere}`
  return versions.length > 0
    ? `${to} has ${versions.length === 1 ? 'it' : 'them'} already`
    : `nothing to promote to ${to}`
}
