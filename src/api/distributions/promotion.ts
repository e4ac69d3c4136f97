// POST /distributions/promote: one package, or several of which each has its own result.
import type { Caller } from '../../domain/caller.ts'
import type { Origin } from '../../domain/audit.ts'
import { invalidField, isProblem, type Problem } from '../../domain/problem.ts'
import type { Previews } from '../../intake/previews.ts'
import type { Promote, PromotionRequest } from '../../packages/copies/promote.ts'
import type { PromoteSeveral, SeveralPromotions } from '../../packages/copies/promote-several.ts'
import { postDistributionsPromote } from './distributions.contract.ts'
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
  const versions = isDry
    ? packages.map(({ version, arch, isPresent }) => versionOf(request.package, { version, arch }, isPresent))
    : (await deps.promote(request, caller, origin)).map(({ source, row }) =>
        versionOf(request.package, source, row === null),
      )
  return {
    status: isDry ? 'dry_run' : 'ok',
    message: messageOf(versions, request.to_dist, isDry),
    package: request.package,
    from: request.from_dist,
    to: request.to_dist,
    versions,
    ...preview,
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
  const outcomes: (Version[] | Problem)[] = isDry
    ? previewed.map((one, at) =>
        isProblem(one) ? one : one.map(({ isPresent, ...rest }) => versionOf(nameOf(at), rest, isPresent)),
      )
    : (await deps.promoteSeveral(request, caller, origin)).map((one, at) =>
        'problem' in one
          ? one.problem
          : one.copied.map(({ source, row }) => versionOf(nameOf(at), source, row === null)),
      )
  const versions = outcomes.flatMap((one) => (isProblem(one) ? [] : one))
  const failed = outcomes.filter((one) => isProblem(one)).length
  const message = messageOf(versions, request.to_dist, isDry)
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
  }
}

const versionOf = (
  name: string,
  { version, arch }: Pick<Version, 'version' | 'arch'>,
  isPresent: boolean,
): Version => ({
  ...{ package: name, version, arch },
  result: isPresent ? 'already_present' : 'promoted',
})

function messageOf(versions: readonly Version[], to: string, isDry: boolean): string {
  const count = versions.filter(({ result }) => result === 'promoted').length
  if (count > 0) return `${count} ${isDry ? 'would be ' : ''}promoted to ${to}`
  return versions.length > 0
    ? `${to} has ${versions.length === 1 ? 'it' : 'them'} already`
    : `nothing to promote to ${to}`
}
