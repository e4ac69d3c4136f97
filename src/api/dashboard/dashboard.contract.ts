// Declarations of /dashboard: what people see first.
import Type from 'typebox'
import { CountsSchema } from '../shared/decision-schemas.ts'
import { AuditEntrySchema } from '../shared/evidence-schemas.ts'
import { declare } from '../http/route.ts'
import { DroppedEvent } from '../shared/event-schemas.ts'
import { PackageStatusSchema } from '../shared/words.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

const named = { package: Type.String(), version: Type.String(), distribution: Type.String(), arch: Type.String() }

const COUNTS = {
  package_count: Type.Integer(),
  pending_reviews: Type.Integer(),
  quarantined: Type.Integer(),
  cve_findings: CountsSchema,
}

export const getDashboardSummary = declare({
  method: 'GET',
  path: '/dashboard/summary',
  tag: 'dashboard',
  summary: 'Counts, and what happened last',
  access: 'reader+',
  answer: Type.Object(
    { ...COUNTS, recent_activity: Type.Array(AuditEntrySchema, { maxItems: 20 }) },
    { title: 'DashboardSummary' },
  ),
  problems: [],
})

export const getDashboardStats = declare({
  method: 'GET',
  path: '/dashboard/stats',
  tag: 'dashboard',
  summary: 'Packages, activity of seven days, alerts, scanners and decisions',
  access: 'reader+',
  answer: Type.Object(
    {
      packages: Type.Object({
        total: Type.Integer(),
        total_size_bytes: Type.Integer(),
        deps_missing_count: Type.Integer(),
        imports_today: Type.Integer(),
      }),
      activity: Type.Array(Type.Object({ date: Type.String(), imports: Type.Integer(), failures: Type.Integer() })),
      recent_imports: Type.Array(
        Type.Object({
          ...named,
          format: Type.String(),
          status: PackageStatusSchema,
          imported_by: Nullable(Type.String({ description: 'null for readers and uploaders' })),
          imported_at: TimeSchema,
        }),
      ),
      alerts: Type.Array(
        Type.Object({
          type: Type.Enum(['deps_missing', 'security', 'sla_warning', 'sla_expired']),
          ...named,
          message: Type.String(),
        }),
      ),
      antivirus: Type.Object({
        available: Type.Boolean(),
        db_version: Nullable(Type.String()),
        db_date: Nullable(Type.String()),
        daemon_running: Type.Boolean(),
      }),
      security_posture: Type.Object({ scanned: Type.Integer(), total: Type.Integer(), ...CountsSchema.properties }),
      security_review: Type.Object({
        pending_review: Type.Integer(),
        blocked: Type.Integer(),
        quarantined: Type.Integer(),
        accepted_risk: Type.Integer(),
        exception: Type.Integer(),
        upgrade_required: Type.Integer(),
        overdue: Type.Integer({ description: 'reviews whose due date has passed, at most 10000' }),
        expiring_soon_total: Type.Integer({ description: 'exceptions that end within seven days, at most 10000' }),
        expiring_soon: Type.Array(
          Type.Object({
            ...named,
            decision_id: Type.Integer(),
            expires_at: TimeSchema,
            remaining_days: Type.Integer(),
          }),
        ),
        total_decisions: Type.Integer(),
      }),
    },
    { title: 'DashboardStats' },
  ),
  problems: [],
})

export const getDashboardHistory = declare({
  method: 'GET',
  path: '/dashboard/history',
  tag: 'dashboard',
  summary: 'What happened on each of the last days (UTC) and what the pool held, oldest first',
  access: 'reader+',
  query: Type.Object({ days: Type.Integer({ minimum: 1, maximum: 365, default: 30 }) }),
  answer: Type.Object(
    {
      history: Type.Array(
        Type.Object({
          date: Type.String(),
          imports: Type.Integer(),
          failures: Type.Integer(),
          decisions: Type.Integer(),
          cve_scans: Type.Integer(),
          pool_packages: Nullable(
            Type.Integer({ description: 'at the end of the day; null when no sample was taken' }),
          ),
          pool_bytes: Nullable(Type.Integer()),
          findings: Nullable(CountsSchema),
        }),
      ),
      days: Type.Integer(),
    },
    { title: 'DashboardHistory' },
  ),
  problems: ['validation_error'],
})

const about = Object.fromEntries(Object.entries(named).map(([key, schema]) => [key, Nullable(schema)]))

const EVENTS = {
  snapshot: Type.Object(COUNTS, { title: 'SnapshotEvent' }),
  package: Type.Object({ action: Type.String(), ...about, status: Nullable(Type.String()) }, { title: 'PackageEvent' }),
  decision: Type.Object(
    { ...about, action: Nullable(Type.String()), status: Nullable(Type.String()), decided_by: Nullable(Type.String()) },
    { title: 'DecisionEvent' },
  ),
  scan: Type.Object(
    { kind: Type.Enum(['rescan', 'rematch']), ...about, result: Type.String(), outcome: Nullable(Type.String()) },
    { title: 'ScanEvent' },
  ),
  review_queue: Type.Object({ pending: Type.Integer() }, { title: 'ReviewQueueEvent' }),
  sync: Type.Object(
    { source_id: Type.Integer(), status: Type.String(), count: Type.Integer() },
    { title: 'SyncEvent' },
  ),
  job: Type.Object(
    {
      ...{ job_id: Type.Integer(), kind: Type.String(), key: Type.String(), status: Type.String() },
      ...{ done: Type.Integer(), total: Type.Integer() },
    },
    { title: 'JobEvent' },
  ),
  health: Type.Object({ status: Type.String() }, { title: 'HealthEvent' }),
  dropped: DroppedEvent,
}

export const getDashboardEvents = declare({
  method: 'GET',
  path: '/dashboard/events',
  tag: 'dashboard',
  summary: 'What happens, as events; continues after Last-Event-ID',
  access: 'reader+',
  limit: 'stream',
  answer: null,
  media: ['text/event-stream'],
  events: EVENTS,
  problems: [],
})
