// Registers the declared routes. Every request passes the same steps: credential, limit, role, schema, handler.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../domain/caller.ts'
import { isProblem, Problem } from '../../domain/problem.ts'
import { mayAccess, type Access } from '../../domain/roles.ts'
import type { KeptAnswers } from '../../store/kept-answers.ts'
import { bodyStream, requireAnnounced } from './bodies.ts'
import { answerOnce } from './idempotency.ts'
import { requireUnchanged, tagEdited } from './if-match.ts'
import type { RateLimiter } from './limits.ts'
import type { Arriving } from './listener.ts'
import { credentialOf } from './protocol.ts'
import { pathOf, requirePlainPath, routerPath, wideParams, type Params } from './paths.ts'
import type { Call, Route } from './route.ts'
import { requireScopedAction, requireScopedTargets } from './scopes.ts'
import { requireDeclared, requireStorable } from './storable.ts'

export interface MountDeps {
  authenticate(authorization: string | undefined): Promise<Caller>
  limiter: RateLimiter
  keptAnswers: KeptAnswers
  production: boolean
  /** @throws Problem('feature_unavailable') when the edition lacks the feature */
  requireFeature(feature: string): void
  /** whether this replica may do what only the leader does */
  leads(): Promise<boolean>
  /** whether this or another replica leads */
  hasLeader(): Promise<boolean>
  /** the format of a distribution; null when there is no such distribution */
  formatOf(codename: string): string | null
  /** called when a write was refused because of the caller's role or of the scopes of its token */
  denied(request: FastifyRequest, caller: Caller, route: Route): Promise<void>
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    /** canonical form; behind trusted proxies the client's own. Every limit, delay and audit entry uses it. */
    readonly clientAddress: string
  }
}

/** The routes that exist in this mode (production or development). */
export function mounted(routes: readonly Route[], production: boolean): Route[] {
  return routes.filter((route) => !(route.flags?.developmentOnly && production))
}

export function mount(app: FastifyInstance, routes: readonly Route[], deps: MountDeps): void {
  for (const route of mounted(routes, deps.production)) {
    app.route({
      method: route.method,
      ...routerPath(pathOf(route)),
      config: { route },
      ...(route.bodyLimitBytes ? { bodyLimit: route.bodyLimitBytes } : {}),
      schema: {
        ...(route.params ? { params: route.params } : {}),
        ...(route.query ? { querystring: route.query } : {}),
        ...(route.body ? { body: route.body } : {}),
      },
      // Runs before the body is read, so that a caller without rights cannot send one.
      onRequest: (request) => admit(request, route, deps),
      preValidation: async (request) => {
        const { params, query } = request
        if (takesDryRuns(route) && !isDryRun(route, request))
          await deps.limiter.take(route, request.caller, request.clientAddress)
        if (route.method === 'DELETE') requireDeclared(query as object, route.query)
        if (route.flags?.optionalBody && request.body === undefined) request.body = {}
        for (const [name, text] of Object.entries({ ...(query as object), ...(params as object) }))
          requireStorable(name, text)
      },
      preHandler: (request) =>
        inScopes(request, route, deps, (caller) => requireScopedTargets(caller, route, request, deps.formatOf)),
      handler: (request, reply) => answer(request, reply, route, deps),
    })
  }
}

async function admit(request: FastifyRequest, route: Route, deps: MountDeps): Promise<void> {
  const authorization = credentialOf(route.protocol, request.headers.authorization)
  const path = pathOf(route)
  const isWide = path.includes('+}')
  // Set first, because a challenge may name what was requested.
  if (isWide) request.params = wideParams(path, request.url)
  try {
    request.caller =
      authorization === undefined && route.access === 'public' ? null : await deps.authenticate(authorization)
  } catch (error) {
    request.caller = null
    // Public routes answer even when the credential cannot be checked: health must report that the database is down.
    if (route.access !== 'public') {
      // Guesses of credentials count as anonymous requests.
      if (isProblem(error, 'unauthorized'))
        await deps.limiter.take({ method: route.method }, null, request.clientAddress)
      throw error
    }
  }
  const { caller } = request
  await deps.limiter.take(takesDryRuns(route) ? { ...route, limit: 'reads' } : route, caller, request.clientAddress)
  if (route.access !== 'public') await requireRights(request, route, route.access, deps)
  if (isWide) requirePlainPath(request.params as Params, request.url, route.flags?.encodedSlashes === true)
  if (route.stream) requireAnnounced(request, route.stream.mostBytes)
  ;(request.raw as Arriving).isUpload = Boolean(route.stream ?? route.flags?.multipart)
  route.beforeBody?.(request)
}

/** Repeats the checks of `admit` on the credential. Counts towards no limit. */
async function admitAgain(request: FastifyRequest, route: Route, deps: MountDeps): Promise<Caller> {
  const caller = await deps.authenticate(credentialOf(route.protocol, request.headers.authorization))
  request.caller = caller
  if (route.access !== 'public') await requireRights(request, route, route.access, deps)
  return caller
}

const declares = (schema: unknown) => 'dry_run' in ((schema as { properties?: object } | undefined)?.properties ?? {})

/** A request to such a route counts as a read at first, and as a write once its body shows that it changes something. */
function takesDryRuns({ body, query }: Route): boolean {
  return declares(body) || declares(query)
}

/** Runs before validation, so that a malformed request does not escape a limit. Checks only where the route reads `dry_run`. */
function isDryRun(route: Route, { body, query }: FastifyRequest): boolean {
  const said = (from: unknown) => (from as { dry_run?: unknown } | null | undefined)?.dry_run
  return (declares(route.body) && said(body) === true) || (declares(route.query) && said(query) === 'true')
}

async function requireRights(request: FastifyRequest, route: Route, access: Access, deps: MountDeps): Promise<void> {
  const { caller } = request
  if (!caller) throw new Problem('unauthorized', 'a credential is needed')
  if (!mayAccess(caller.role, access)) {
    if (route.method !== 'GET') await deps.denied(request, caller, route)
    throw new Problem('forbidden', `the role ${caller.role} may not do this`)
  }
  if (route.flags?.sessionOnly && caller.kind !== 'session')
    throw new Problem('session_required', 'an API token cannot do this; log in as a person')
  if (caller.mustEnrol && !route.flags?.enrolment)
    throw new Problem('mfa_required', 'set up a second factor first: your role needs one here')
  await inScopes(request, route, deps, () => requireScopedAction(caller, route))
  if (route.flags?.enterprise) deps.requireFeature(route.flags.enterprise)
  if (route.flags?.leaderOnly && !(await deps.leads())) throw passive('this replica is passive; ask the leader')
  if (route.flags?.needsLeader && !(await deps.hasLeader())) throw passive('no replica leads at the moment')
}

const passive = (sentence: string) => new Problem('passive_replica', sentence, {}, { retryAfterSeconds: 5 })

async function inScopes(
  request: FastifyRequest,
  route: Route,
  deps: MountDeps,
  check: (caller: Caller) => void,
): Promise<void> {
  const { caller } = request
  if (!caller?.scopes || route.access === 'public') return
  try {
    check(caller)
  } catch (error) {
    if (route.method !== 'GET' && isProblem(error)) await deps.denied(request, caller, route)
    throw error
  }
}

/** Counts a request to an unknown path towards the limit of its caller, or else of its address. */
export async function countUnknown(request: FastifyRequest, deps: MountDeps): Promise<void> {
  const { authorization } = request.headers
  const caller = authorization === undefined ? null : await deps.authenticate(authorization).catch(() => null)
  const method = request.method === 'GET' || request.method === 'HEAD' ? 'GET' : 'POST'
  await deps.limiter.take({ method }, caller, request.clientAddress)
}

async function answer(request: FastifyRequest, reply: FastifyReply, route: Route, deps: MountDeps): Promise<unknown> {
  reply.code(route.success ?? 200)
  const keys = typeof route.edited === 'object' ? route.edited : []
  const call: Call<never, never, never> = {
    params: request.params as never,
    query: request.query as never,
    body: request.body as never,
    caller: request.caller,
    admitAgain: () => admitAgain(request, route, deps),
    bodyStream: () => bodyStream(request, route.stream?.mostBytes ?? 0),
    unchanged: (before) => requireUnchanged(request, before, keys),
    origin: { ip: request.clientAddress, requestId: request.id },
    raw: request,
    reply,
  }
  const run = () => route.handle(call)
  const body = route.idempotencyKey ? await answerOnce({ request, reply, route }, deps.keptAnswers, run) : await run()
  if (keys.length > 0) tagEdited(reply, body, keys)
  // A handler that streams returns undefined because it has sent the reply itself.
  return body === undefined ? reply : body
}
