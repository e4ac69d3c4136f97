// The HTTP server of the API: paths, request ids, headers, CORS, errors. It knows no endpoint.
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import Fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Problem } from '../domain/problem.ts'
import { asError } from '../kernel/errors.ts'
import { hasBody } from '../kernel/connections.ts'
import { createClientAddress } from '../kernel/client-address.ts'
import type { Log } from '../kernel/log.ts'
import { acceptBodies } from './http/bodies.ts'
import { createListener, type ListenerTimeouts } from './http/listener.ts'
import { countUnknown, mount, mounted, type MountDeps } from './http/mount.ts'
import { wideRouting } from './http/paths.ts'
import { createNotFound } from './http/not-found.ts'
import { problemOf } from './http/problems.ts'
import { protocolsOf, sendProblem } from './http/protocol.ts'
import { traceRequests } from './http/request-spans.ts'
import { templateOf } from './http/route-template.ts'
import type { Route } from './http/route.ts'
import { validatorCompiler } from './http/validation.ts'

/** How long running requests may take after the server starts to close. */
const DRAIN_MS = 30_000

export interface ServerDeps extends MountDeps {
  routes: readonly Route[]
  log: Log
  trustedProxies: readonly string[]
  corsOrigins: readonly string[]
  /** called after each answer; `path` is the route's template or `other` */
  observe(request: { method: string; path: string; status: number; seconds: number }): void
  /** Resolves when no replica answers from a state before the changes made so far. */
  changesSeen?(): Promise<void> | undefined
  /** false once the service is stopping */
  accepting(): boolean
  timeouts?: ListenerTimeouts
  drainMs?: number
}

/** Creates the server. Its `close()` waits up to `drainMs` for running requests, then cuts them. */
export async function createServer(deps: ServerDeps): Promise<FastifyInstance> {
  const listener = createListener(deps.timeouts)
  const protocolOf = protocolsOf(deps.routes)
  const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendProblem(reply, knownProblem(deps.log, error, request), protocolOf(request.url))
  const app = Fastify({
    loggerInstance: deps.log as never,
    logController: new LogController({ disableRequestLogging: true }),
    serverFactory: (handle) => listener.createServer(handle),
    clientErrorHandler: (error, socket) => {
      listener.refuseUnreadable(error, socket)
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: 2048,
      caseSensitive: true,
      constraints: { wide: wideRouting(mounted(deps.routes, deps.production)) },
    },
    rewriteUrl: (request) => withoutExtraPrefix(request.url ?? '/'),
    genReqId: (request) => requestId(request.headers['x-request-id']),
    frameworkErrors: (error, request, reply) => {
      // No hook runs for a path that cannot be decoded.
      commonHeaders(deps, request, reply)
      closeUnread(request, reply)
      void countUnknown(request, deps).then(
        () => answerError(error, request, reply),
        (limited: unknown) => answerError(limited, request, reply),
      )
    },
    // The `onRequest` hook answers 503 in the common error shape.
    return503OnClosing: false,
  }) as unknown as FastifyInstance
  app.setValidatorCompiler(validatorCompiler())
  app.decorateRequest('caller', null)
  app.decorateRequest('bodyDigest', null)
  const clientAddress = createClientAddress(deps.trustedProxies)
  app.decorateRequest('clientAddress', {
    getter(this: FastifyRequest) {
      return clientAddress(this.raw.socket.remoteAddress, this.raw.headers['x-forwarded-for'])
    },
  })
  traceRequests(app)
  app.addHook('preClose', () => listener.drain(deps.drainMs ?? DRAIN_MS))
  acceptBodies(app)
  await app.register(multipart)
  hooks(app, deps)
  app.setErrorHandler(answerError)
  mount(app, deps.routes, deps)
  return app
}

/** Removes one leading `/api` that a proxy added (decisions, section 1). */
export function withoutExtraPrefix(url: string): string {
  return /^\/api\/(api\/|health|metrics|webhooks)/.test(url) ? url.slice('/api'.length) : url
}

function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}

function hooks(app: FastifyInstance, deps: ServerDeps): void {
  const notFound = createNotFound(deps.routes, deps.production)
  app.addHook('onRequest', async (request, reply) => {
    commonHeaders(deps, request, reply)
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      return reply
        .headers({
          'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
          'access-control-allow-headers':
            'Authorization, Content-Type, Idempotency-Key, If-Match, X-Request-ID, X-Setup-Token, Last-Event-ID',
          'access-control-max-age': '600',
        })
        .code(204)
        .send()
    }
    if (!deps.accepting()) {
      reply.header('connection', 'close')
      if (!request.url.startsWith('/health'))
        throw new Problem('shutting_down', 'the service is stopping', {}, { retryAfterSeconds: 5 })
    }
    if (request.is404) {
      // Not in a not-found handler, because that runs after the body is read.
      await countUnknown(request, deps)
      const { problem, allow } = notFound(request.method, request.url.split('?')[0] ?? '/')
      if (allow.length > 0) reply.header('allow', allow.join(', '))
      throw problem
    }
    return undefined
  })
  app.addHook('preParsing', async (request, reply) => {
    // The request is admitted, so the client may send its body.
    if (/^100-continue$/i.test(request.headers.expect ?? '') && 'writeContinue' in reply.raw) reply.raw.writeContinue()
  })
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') await deps.changesSeen?.()
    closeUnread(request, reply)
    if (request.method !== 'HEAD' || !(payload instanceof Readable)) return payload
    // Fastify would read it to its end.
    payload.destroy()
    return Readable.from([])
  })
  app.addHook('onResponse', async (request, reply) => {
    const seconds = reply.elapsedTime / 1000
    deps.observe({
      method: request.method,
      path: templateOf(request) ?? 'other',
      status: reply.statusCode,
      seconds,
    })
    deps.log.info(
      {
        request_id: request.id,
        ...(request.span?.traceId ? { trace_id: request.span.traceId } : {}),
        method: request.method,
        path: request.url.split('?')[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        caller: request.caller?.name,
      },
      'request',
    )
  })
}

/** Ends the connection after an answer that is sent before the whole body arrived, so that the rest need not be read. */
function closeUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  // Without a body, an answer may be sent before Node sets `complete`. Injected test requests never have it set.
  if (hasBody(raw) && (raw.complete as boolean | undefined) === false) reply.header('connection', 'close')
}

/** Sets the headers of every answer. */
function commonHeaders(deps: ServerDeps, request: FastifyRequest, reply: FastifyReply): void {
  const { origin } = request.headers
  reply.headers({
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-site',
    'cache-control': 'no-store',
  })
  if (!reply.hasHeader('content-security-policy'))
    reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
  if (deps.production) reply.header('strict-transport-security', 'max-age=31536000; includeSubDomains')
  reply.header('vary', 'Origin')
  if (origin !== undefined && deps.corsOrigins.includes(origin)) {
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers':
        'X-Request-ID, Retry-After, X-Package-Status, Content-Disposition, ETag, Idempotency-Replayed',
    })
  }
}

/** Logs what operators must know of. */
function knownProblem(log: Log, error: unknown, request: FastifyRequest): Problem {
  const { problem, isBug } = problemOf(error, request.id)
  if (isBug) log.error({ request_id: request.id, err: error }, STATUS_CODES[500])
  if (problem.code === 'database_unavailable')
    log.warn({ request_id: request.id, reason: asError(error).message }, 'the database does not answer')
  if (problem.code === 'database_busy')
    log.warn(
      { request_id: request.id, reason: asError(problem.cause).message },
      'other changes hold what this one needs',
    )
  return problem
}
