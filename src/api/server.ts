// The API's HTTP server: paths, request ids, headers, CORS, body parsing, errors. Knows no endpoint.
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { Ajv } from 'ajv'
import Fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import multipart from '@fastify/multipart'
import { Problem } from '../domain/problem.ts'
import { createClientAddress } from '../kernel/client-address.ts'
import type { Log } from '../kernel/log.ts'
import { mount, mounted, pathOf, type MountParts } from './mount.ts'
import { problemOf, sendProblem } from './problems.ts'
import type { Route } from './route.ts'
import { requireStorable } from './storable.ts'

const BODY_LIMIT = 1024 * 1024

export interface ServerParts extends MountParts {
  routes: readonly Route[]
  log: Log
  trustedProxies: readonly string[]
  corsOrigins: readonly string[]
  /** called once a request was answered; `path` is the route's template or `other` */
  observe(request: { method: string; path: string; status: number; seconds: number }): void
  /** false once the service is stopping */
  accepting(): boolean
}

export async function createServer(parts: ServerParts): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: parts.log as never,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    // An upload may take as long as its sender needs; idle sockets are closed by the two below.
    requestTimeout: 0,
    keepAliveTimeout: 75_000,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 2048, caseSensitive: true },
    rewriteUrl: (request) => withoutExtraPrefix(request.url ?? '/'),
    genReqId: (request) => requestId(request.headers['x-request-id']),
    frameworkErrors: (error, request, reply) => {
      // An address that cannot be decoded passes no hook.
      commonHeaders(parts, request, reply)
      void sendProblem(reply, problemOf(error, request.id).problem)
    },
    forceCloseConnections: 'idle',
    // The hook below says it in our error shape.
    return503OnClosing: false,
  }) as unknown as FastifyInstance
  app.setValidatorCompiler(validatorCompiler())
  app.decorateRequest('caller', null)
  const clientAddress = createClientAddress(parts.trustedProxies)
  app.decorateRequest('clientAddress', {
    getter(this: FastifyRequest) {
      return clientAddress(this.raw.socket.remoteAddress, this.raw.headers['x-forwarded-for'])
    },
  })
  await app.register(multipart)
  acceptBodies(app)
  hooks(app, parts)
  errors(app, parts)
  mount(app, parts.routes, parts)
  return app
}

/** Query and path are text and are read as what the schema wants; a JSON body must have the right types itself. */
function validatorCompiler() {
  const options = { useDefaults: true, allErrors: true, strict: false }
  const strict = new Ajv(options)
  const coercing = new Ajv({ ...options, coerceTypes: true })
  return ({ schema, httpPart }: { schema: unknown; httpPart?: string }) =>
    (httpPart === 'body' ? strict : coercing).compile(schema as object)
}

/** One leading `/api` that a proxy put in front is dropped (decisions, section 1). */
export function withoutExtraPrefix(url: string): string {
  return /^\/api\/(api\/|health|metrics|webhooks)/.test(url) ? url.slice('/api'.length) : url
}

function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}

function acceptBodies(app: FastifyInstance): void {
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if ((request.routeOptions.config as { route?: Route }).route?.flags?.rawBody) {
      done(null, body)
      return
    }
    // A client that always sets the content type sends no body with a POST that takes none.
    if (body.length === 0) {
      done(null, undefined)
      return
    }
    try {
      done(null, JSON.parse(body.toString('utf8'), harmless))
    } catch (error) {
      if (error instanceof Problem) {
        done(error, undefined)
        return
      }
      done(
        new Problem('validation_error', 'body: is not valid JSON', {
          errors: [{ field: 'body', message: 'is not valid JSON' }],
        }),
        undefined,
      )
    }
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    const fields = Object.fromEntries(new URLSearchParams(body as string))
    try {
      for (const [name, text] of Object.entries(fields)) requireStorable(name, text)
      done(null, fields)
    } catch (error) {
      done(error as Error, undefined)
    }
  })
}

/** Reviver for bodies: keys may become data, as in maps of settings. */
function harmless(this: unknown, key: string, value: unknown): unknown {
  requireStorable(Array.isArray(this) ? 'body' : key, value)
  requireStorable('body', key)
  return key === '__proto__' ? undefined : value
}

function hooks(app: FastifyInstance, parts: ServerParts): void {
  app.addHook('onRequest', async (request, reply) => {
    commonHeaders(parts, request, reply)
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      return reply
        .headers({
          'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
          'access-control-allow-headers': 'Authorization, Content-Type, X-Request-ID, X-Setup-Token, Last-Event-ID',
          'access-control-max-age': '600',
        })
        .code(204)
        .send()
    }
    if (!parts.accepting()) {
      reply.header('connection', 'close')
      if (!request.url.startsWith('/health'))
        throw new Problem('shutting_down', 'the service is stopping', {}, { retryAfterSeconds: 5 })
    }
    return undefined
  })
  app.addHook('onResponse', async (request, reply) => {
    const seconds = reply.elapsedTime / 1000
    const route = (request.routeOptions.config as { route?: Route }).route
    parts.observe({
      method: request.method,
      path: route ? (request.routeOptions.url?.replace(/:(\w+)/g, '{$1}') ?? 'other') : 'other',
      status: reply.statusCode,
      seconds,
    })
    parts.log.info(
      {
        request_id: request.id,
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

/** What every answer carries. */
function commonHeaders(parts: ServerParts, request: FastifyRequest, reply: FastifyReply): void {
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
  if (parts.production) reply.header('strict-transport-security', 'max-age=31536000; includeSubDomains')
  reply.header('vary', 'Origin')
  if (origin !== undefined && parts.corsOrigins.includes(origin)) {
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'X-Request-ID, Retry-After, X-Package-Status, Content-Disposition',
    })
  }
}

function errors(app: FastifyInstance, parts: ServerParts): void {
  const patterns = mounted(parts.routes, parts.production).map((route) => ({
    method: route.method,
    pattern: new RegExp(
      `^${pathOf(route)
        .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
        .replace(/\{\w+\}/g, '[^/]+')}/?$`,
    ),
  }))
  app.setErrorHandler((error, request, reply) => {
    const { problem, isBug } = problemOf(error, request.id)
    if (isBug) parts.log.error({ request_id: request.id, err: error }, STATUS_CODES[500])
    return sendProblem(reply, problem)
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? '/'
    const declared = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    // What can be read with GET can be asked for with HEAD.
    const methods = [...new Set(declared.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
    if (methods.length > 0) {
      reply.header('allow', methods.join(', '))
      return sendProblem(
        reply,
        new Problem('method_not_allowed', `${request.method} is not allowed here`, { allow: methods }),
      )
    }
    const version = /^\/api\/(v\d+)(\/|$)/.exec(path)?.[1]
    if (version !== undefined && version !== 'v1')
      return sendProblem(reply, new Problem('unknown_api_version', `there is no API version ${version}`))
    return sendProblem(reply, new Problem('not_found', 'there is nothing at this address'))
  })
}
