// Declarations of /health and /metrics, at the root.
import Type from 'typebox'
import { TimeSchema } from '../http/schemas.ts'
import { declare } from '../http/route.ts'

/** The other keys depend on the probe. */
const ProbeSchema = Type.Object({ ok: Type.Boolean() }, { additionalProperties: true, title: 'Probe' })
const Probes = Type.Record(Type.String(), ProbeSchema)

export const getHealth = declare({
  method: 'GET',
  path: '/health',
  root: true,
  tag: 'health',
  summary: 'All probes; 503 when a critical one fails',
  access: 'public',
  limit: 'none',
  also: { 503: 'A critical probe fails' },
  answer: Type.Object(
    {
      status: Type.Enum(['healthy', 'degraded', 'unhealthy']),
      timestamp: TimeSchema,
      version: Type.String(),
      uptime_seconds: Type.Integer(),
      checks: Type.Object({ critical: Probes, non_critical: Probes, info: Probes }),
    },
    { title: 'Health' },
  ),
  problems: ['unauthorized'],
})

export const getHealthLive = declare({
  method: 'GET',
  path: '/health/live',
  root: true,
  tag: 'health',
  summary: 'Answers 200 while the process runs; makes no I/O',
  access: 'public',
  limit: 'none',
  answer: Type.Object({ status: Type.Literal('ok') }),
  problems: [],
})

export const getHealthReady = declare({
  method: 'GET',
  path: '/health/ready',
  root: true,
  tag: 'health',
  summary: 'Whether requests can be served; 503 when not, and while stopping',
  access: 'public',
  limit: 'none',
  also: { 503: 'Not ready' },
  answer: Type.Object(
    {
      ready: Type.Boolean(),
      timestamp: TimeSchema,
      checks: Probes,
      failing: Type.Optional(Type.Array(Type.String())),
      degraded: Type.Optional(
        Type.Array(Type.String(), { description: 'what does not work although requests can be served' }),
      ),
    },
    { title: 'Readiness' },
  ),
  problems: [],
})

export const getMetrics = declare({
  method: 'GET',
  path: '/metrics',
  root: true,
  tag: 'health',
  summary: 'Metrics in Prometheus text format 0.0.4',
  access: 'public',
  limit: 'none',
  answer: null,
  media: ['text/plain'],
  problems: ['unauthorized'],
})
