// /health and /metrics, at the root.
import { Problem } from '../../domain/problem.ts'
import { equalSecret } from '../../kernel/crypto.ts'
import { withoutPrivate, type Health } from '../../operations/monitoring/health.ts'
import type { Metrics } from '../../operations/monitoring/metrics.ts'
import { type Route } from '../http/route.ts'
import { getHealth, getHealthLive, getHealthReady, getMetrics } from './health.contract.ts'
import { handle } from '../http/route.ts'

export interface HealthRouteDeps {
  health: Health
  metrics: Metrics
  production: boolean
  requireAuth: boolean
  metricsToken: string | null
}

export function healthRoutes(deps: HealthRouteDeps): Route[] {
  return [
    handle(getHealth, async ({ caller, reply }) => {
      if (deps.requireAuth && !caller) throw new Problem('unauthorized', 'a credential is needed')
      const report = await deps.health.report()
      if (report.status === 'unhealthy') reply.code(503)
      return deps.production && !caller ? withoutPrivate(report) : report
    }),
    handle(getHealthLive, async () => ({ status: 'ok' })),
    handle(getHealthReady, async ({ reply }) => {
      const body = await deps.health.ready()
      if (!body.ready) reply.code(503)
      return body
    }),
    handle(getMetrics, async ({ raw, reply }) => {
      const given = /^Bearer (.+)$/.exec(raw.headers.authorization ?? '')?.[1] ?? ''
      if (deps.metricsToken !== null && !equalSecret(given, deps.metricsToken))
        throw new Problem('unauthorized', 'the metrics token is needed')
      reply.type('text/plain; version=0.0.4; charset=utf-8')
      return reply.send(await deps.metrics.render())
    }),
  ]
}
