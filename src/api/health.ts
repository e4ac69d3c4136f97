// /health and /metrics, at the root.
import Type from 'typebox'
import { Problem } from '../domain/problem.ts'
import { equalSecret } from '../kernel/crypto.ts'
import { withoutPrivate, type Health } from '../insight/health.ts'
import type { Metrics } from '../insight/metrics.ts'
import { route, type Route } from './route.ts'

export interface HealthRouteParts {
  health: Health
  metrics: Metrics
  production: boolean
  requireAuth: boolean
  metricsToken: string | null
}

const Probes = Type.Object({}, { additionalProperties: true })

export function healthRoutes(parts: HealthRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/health',
      root: true,
      tag: 'health',
      summary: 'All probes; 503 when a critical one fails',
      access: 'public',
      limit: 'none',
      answer: Type.Object({
        status: Type.Enum(['healthy', 'degraded', 'unhealthy']),
        timestamp: Type.String(),
        version: Type.String(),
        checks: Probes,
      }),
      problems: ['unauthorized'],
      async handle({ caller, reply }) {
        if (parts.requireAuth && !caller) throw new Problem('unauthorized', 'a credential is needed')
        const report = await parts.health.report()
        if (report.status === 'unhealthy') reply.code(503)
        return parts.production && !caller ? withoutPrivate(report) : report
      },
    }),
    route({
      method: 'GET',
      path: '/health/live',
      root: true,
      tag: 'health',
      summary: 'The process runs; no I/O',
      access: 'public',
      limit: 'none',
      answer: Type.Object({ status: Type.Literal('ok') }),
      problems: [],
      handle: async () => ({ status: 'ok' }),
    }),
    route({
      method: 'GET',
      path: '/health/ready',
      root: true,
      tag: 'health',
      summary: 'Whether requests can be served; 503 when not, also while draining',
      access: 'public',
      limit: 'none',
      answer: Type.Object({ ready: Type.Boolean(), timestamp: Type.String(), checks: Probes }),
      problems: [],
      async handle({ reply }) {
        const body = await parts.health.ready()
        if (!body.ready) reply.code(503)
        return body
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      root: true,
      tag: 'health',
      summary: 'Prometheus text format 0.0.4',
      access: 'public',
      limit: 'none',
      answer: null,
      problems: ['unauthorized'],
      async handle({ raw, reply }) {
        const given = /^Bearer (.+)$/.exec(raw.headers.authorization ?? '')?.[1] ?? ''
        if (parts.metricsToken !== null && !equalSecret(given, parts.metricsToken))
          throw new Problem('unauthorized', 'the metrics token is needed')
        reply.type('text/plain; version=0.0.4; charset=utf-8')
        return reply.send(await parts.metrics.render())
      },
    }),
  ]
}
