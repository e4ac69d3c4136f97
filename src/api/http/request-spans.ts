// The span of each request, named by its method and the template of its route.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { beginSpan, continueSpan, endSpan, isTraced, type Span } from '../../kernel/trace.ts'
import { templateOf } from './route-template.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | null
  }
}

/** Probes and scrapes come every few seconds; their spans are of no use. */
const UNTRACED = /^\/(health|metrics)\b/

/** Call it before other hooks are added. The span covers everything from the header to the last byte of the answer. */
export function traceRequests(app: FastifyInstance): void {
  app.decorateRequest('span', null)
  if (!isTraced()) return
  app.addHook('onRequest', (request, _reply, done) => {
    if (UNTRACED.test(request.url)) {
      done()
      return
    }
    const route = templateOf(request)
    const span: Span = {
      name: route === null ? request.method : `${request.method} ${route}`,
      kind: 'server',
      attributes: {
        'http.request.method': request.method,
        'http.route': route ?? undefined,
        'gatehouse.request_id': request.id,
      },
      caller: request.headers,
    }
    request.span = span
    beginSpan(span, done)
  })
  // The events of the connection deliver the body, and the connection belongs to no request.
  const goOn = (request: FastifyRequest, done: () => void) => {
    if (request.span) continueSpan(request.span, done)
    else done()
  }
  app.addHook('preValidation', (request, _reply, done) => goOn(request, done))
  app.addHook('onResponse', (request, reply, done) => {
    const { span } = request
    if (span) {
      span.attributes['http.response.status_code'] = reply.statusCode
      span.attributes['gatehouse.role'] = request.caller?.role
      if (reply.statusCode >= 500) span.failure = String(reply.statusCode)
      endSpan(span)
    }
    done()
  })
}
