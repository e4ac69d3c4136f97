// The HTTP API: the server that mounts the routes of every room.
import { createAuthenticate } from '../../accounts/authenticate.ts'
import { createRateLimiter } from '../../api/http/limits.ts'
import { createServer } from '../../api/server.ts'
import { routesOf, type Rooms } from './routes.ts'

/** @param accepting false once the service is stopping */
export async function createApi(rooms: Rooms, accepting: () => boolean) {
  const { foundation, accounts, insight, replicas } = rooms
  const { env, db, clock, log, audit, license, leader, production } = foundation
  const authenticate = createAuthenticate({
    db,
    clock,
    sessions: accounts.sessions,
    settings: foundation.settings.current,
    publishers: () => foundation.settings.current().trusted_publishing.publishers,
  })
  const routes = routesOf(rooms, authenticate)
  const server = await createServer({
    routes,
    log,
    production,
    trustedProxies: env.trustedProxies,
    corsOrigins: env.corsOrigins,
    limiter: createRateLimiter(clock, env.rateLimitFactor, replicas.windows),
    keptAnswers: foundation.keptAnswers,
    authenticate,
    requireFeature: license.requireFeature,
    leads: leader.leads,
    formatOf: (codename) => rooms.publishing.registry.place(codename)?.format.id ?? null,
    hasLeader: leader.exists,
    accepting,
    changesSeen: () => replicas.cache?.settled(),
    observe: insight.metrics.observeRequest,
    denied: (request, caller, route) =>
      audit.record({
        action: 'ACCESS_DENIED',
        result: 'FAILURE',
        user: caller.name,
        detail: `${route.method} ${route.path}`,
        outcome: 'forbidden',
        ip: request.clientAddress,
        requestId: request.id,
      }),
  })
  return { server, routes }
}
