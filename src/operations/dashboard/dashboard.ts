// The content of the dashboard, from counters and the first rows of indexes: its cost is the same with a million packages.
import { DAY_MS } from '../../domain/durations.ts'
import type { AntivirusStatus } from '../../gate/engines/scanner.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import {
  countDeadlines,
  dashboardCounts,
  dueFirst,
  exceptionsEnding,
  missingFirst,
  newestRecords,
  worstFirst,
  type AlertRow,
} from '../../packages/records/dashboard-query.ts'
import { worstOfBits } from '../../domain/risk.ts'
import { severitySummary } from '../../packages/records/review-query.ts'
import type { Activity } from './activity.ts'
import type { PoolGrowth } from './pool-growth.ts'
import { readTotals } from './totals.ts'

export interface Alert {
  type: 'deps_missing' | 'security' | 'sla_warning' | 'sla_expired'
  package: string
  version: string
  distribution: string
  arch: string
  message: string
}

export interface DashboardDeps {
  db: Db
  clock: Clock
  activity: Activity
  growth: Pick<PoolGrowth, 'since'>
  /** chains the latest recorded entries, so that they are counted */
  audit: { flush(): Promise<void> }
  antivirus(): Promise<AntivirusStatus>
}

export type Dashboard = ReturnType<typeof createDashboard>

/** A deadline is reported this long before it passes, as in the report about deadlines. */
const WARNING_DAYS = 7
const ACTIVITY_DAYS = 7
/** Most items of each kind of alert, and of each list. */
const LISTED = 10

export function createDashboard({ db, clock, activity, growth, audit, antivirus }: DashboardDeps) {
  async function history(days: number) {
    await audit.flush()
    await activity.catchUp()
    return activity.history(days)
  }

  /** @returns the alerts; and separately the exceptions among them that end soon */
  async function alerts(now: Date) {
    const soon = new Date(now.getTime() + WARNING_DAYS * DAY_MS)
    const [late, near, ending, quarantined, held, missing, deadlines] = await Promise.all([
      dueFirst(db, { after: null, upTo: now }, LISTED),
      dueFirst(db, { after: now, upTo: soon }, LISTED),
      exceptionsEnding(db, { after: now, upTo: soon }, LISTED),
      worstFirst(db, 'quarantined', LISTED),
      worstFirst(db, 'pending_review', LISTED),
      missingFirst(db, LISTED),
      countDeadlines(db, now, soon),
    ])
    const about = (type: Alert['type'], message: (row: AlertRow) => string) => (row: AlertRow) => {
      const { name, version, distribution, arch } = row
      return { type, package: name, version, distribution, arch, message: message(row) }
    }
    const all: Alert[] = [
      ...late.map(about('sla_expired', (row) => `the review was due on ${dayOf(row.review_due_at)}`)),
      ...near.map(about('sla_warning', (row) => `the review is due on ${dayOf(row.review_due_at)}`)),
      ...ending.map(({ package: name, version, distribution, arch, expires_at }) => ({
        ...{ type: 'sla_warning' as const, package: name, version, distribution, arch },
        message: `the exception ends on ${dayOf(expires_at)}`,
      })),
      ...[...quarantined, ...held].map(about('security', heldBecause)),
      ...missing.map(
        about('deps_missing', (row) => `dependencies are missing: ${row.missing.join(', ').slice(0, 200)}`),
      ),
    ]
    return { all, ending, deadlines }
  }

  return {
    /** The activity of the last days, and the pool at the end of each. */
    async history(count: number) {
      const days = await history(count)
      const pool = await growth.since(days[0]?.date ?? '')
      return days.map((day) => {
        const held = pool.get(day.date)
        return {
          ...day,
          pool_packages: held?.packages ?? null,
          pool_bytes: held?.bytes ?? null,
          findings: held?.findings ?? null,
        }
      })
    },
    async summary() {
      const [totals, findings] = await Promise.all([readTotals(db), severitySummary(db, {})])
      return {
        package_count: totals.packages,
        pending_reviews: totals.pendingReview,
        quarantined: totals.quarantined,
        cve_findings: findings,
      }
    },
    async stats() {
      const now = clock.now()
      const [days, totals, counts, recent, engine, alerted] = await Promise.all([
        history(ACTIVITY_DAYS),
        readTotals(db),
        dashboardCounts(db),
        newestRecords(db, LISTED),
        antivirus(),
        alerts(now),
      ])
      const { accept_risk, exception, upgrade_required } = counts.activeDecisions
      return {
        packages: {
          total: totals.packages,
          total_size_bytes: counts.sizeBytes,
          deps_missing_count: counts.depsMissing,
          imports_today: days.at(-1)?.imports ?? 0,
        },
        activity: days.map(({ date, imports, failures }) => ({ date, imports, failures })),
        recent_imports: recent.map(
          ({ name, version, arch, distribution, format, status, imported_at, imported_by }) => ({
            ...{
              package: name,
              version,
              arch,
              distribution,
              format,
              status,
              imported_by: imported_by,
            },
            imported_at: isoTime(imported_at),
          }),
        ),
        alerts: alerted.all,
        antivirus: {
          available: engine.available,
          db_version: engine.db_version,
          db_date: engine.db_date,
          daemon_running: engine.daemon_running,
        },
        security_posture: { scanned: counts.scanned, total: counts.records, ...counts.findings },
        security_review: {
          pending_review: totals.pendingReview,
          blocked: counts.blocked,
          quarantined: totals.quarantined,
          accepted_risk: accept_risk,
          exception,
          upgrade_required,
          overdue: alerted.deadlines.overdue,
          expiring_soon_total: alerted.deadlines.ending,
          expiring_soon: alerted.ending.map(({ id, package: name, version, distribution, arch, expires_at }) => ({
            ...{ decision_id: id, package: name, version, distribution, arch, expires_at: isoTime(expires_at) },
            remaining_days: Math.ceil((expires_at.getTime() - now.getTime()) / DAY_MS),
          })),
          total_decisions: counts.decisions,
        },
      }
    },
  }
}

const dayOf = (date: Date | null) => date?.toISOString().slice(0, 10) ?? ''

function heldBecause({ status, severities, held_reason }: AlertRow): string {
  const worst = worstOfBits(severities)
  const state = status === 'quarantined' ? 'is quarantined' : 'waits for a decision'
  const findings = worst === null ? '' : `; its worst vulnerability is ${worst.toLowerCase()}`
  return `${state}${held_reason === null ? '' : ` (${held_reason})`}${findings}`
}
