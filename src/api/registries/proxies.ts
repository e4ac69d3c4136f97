// What /registries says about proxies, and the claims of hosted repositories.
import { Problem } from '../../domain/problem.ts'
import { repositoryKey } from '../../domain/repositories.ts'
import { requireInside } from '../../domain/scopes.ts'
import { registryFormats } from '../../formats/index.ts'
import { isoTime } from '../../kernel/clock.ts'
import type { Claim, Claims } from '../../proxies/claims.ts'
import type { Proxies } from '../../proxies/proxies.ts'
import type { Withheld } from '../../proxies/withheld.ts'
import type { Repositories } from '../../registries/repositories.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { actorOf } from './registries.ts'
import { deleteClaims, getClaims, getWithheld, postClaims, postRequests } from './proxies.contract.ts'

export interface ProxyRoutesDeps {
  repositories: Pick<Repositories, 'get'>
  claims: Claims
  withheld: Withheld
  request: Proxies['request']
}

export function proxyRoutes({ repositories, claims, withheld, request }: ProxyRoutesDeps): Route[] {
  return [
    handle(getWithheld, async ({ params, query }) => {
      const { key } = await repositories.get(repositoryKey(params))
      const { per_page: limit } = query
      const found = await withheld.list(key, { limit, offset: (query.page - 1) * limit })
      const shown = found.withheld.map(({ until, asked_at: at, ...row }) => ({
        ...row,
        until: until && isoTime(until),
        asked_at: isoTime(at),
      }))
      return page(shown, found.total, query)
    }),
    handle(postRequests, async (call) => {
      const { name, version } = call.body
      const key = repositoryKey(call.params)
      const canonical = registryFormats.find(({ id }) => id === call.params.format)?.canonicalName(name) ?? null
      if (canonical === null) throw new Problem('not_found', `no package can be called ${name}`)
      const { scopes } = call.caller
      if (scopes) requireInside(scopes, { distribution: key, format: call.params.format, name: canonical })
      const files = await request(await repositories.get(key), { name: canonical, version }, actorOf(call))
      return { name: canonical, version, files }
    }),
    handle(getClaims, async ({ params }) => {
      const all = await claims.list(await repositories.get(repositoryKey(params)))
      return { claims: all.map(shownClaim), total: all.length }
    }),
    handle(postClaims, async (call) => {
      const repository = await repositories.get(repositoryKey(call.params))
      return shownClaim(await claims.add(repository, call.body.pattern, actorOf(call)))
    }),
    handle(deleteClaims, async (call) => {
      const { pattern } = call.query
      await claims.remove(await repositories.get(repositoryKey(call.params)), pattern, actorOf(call))
      return { status: 'deleted' as const, pattern }
    }),
  ]
}

const shownClaim = ({ created_at: at, ...claim }: Claim) => ({ ...claim, created_at: isoTime(at) })
