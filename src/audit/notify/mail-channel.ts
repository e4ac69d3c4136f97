// The mail channel of the outbox: which events are mailed, with which data. Consecutive entries of one kind share a mail.
import { countSeverities, type Severity } from '../../domain/finding.ts'
import { severityBits, worstOfBits } from '../../domain/risk.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Log } from '../../kernel/log.ts'
import { matchingRecords } from '../../store/records/artifact-query.ts'
import type { Db } from '../../store/db.ts'
import { eventOf, type AuditRow } from './events.ts'
import type { Rendered } from './letter.ts'
import { alertLetter, deadlineLetter, decisionLetter, heldLetter, type DeadlineItem, type HeldItem } from './letters.ts'
import { MAIL_LIMIT_MS, recipientsOf, type Mailer } from './mail.ts'
import type { Channel } from './outbox.ts'
import { checksOf } from './record-checks.ts'

/** docs/api-decisions.md, section 19: only the webhook sends the other events, and runs that did not fail. */
const MAILED = [
  ...(['PENDING_REVIEW', 'DECISION', 'SLA_EXPIRING', 'SLA_OVERDUE'] as const),
  ...(['ANTIVIRUS_HIT', 'INTEGRITY_ALERT', 'SCHEDULER_JOB_FAILED', 'SYNC_RESULT', 'MIRROR_RESULT'] as const),
]
type MailedEvent = (typeof MAILED)[number]

export function createMailChannel(deps: { db: Db; log: Log; mailer: Mailer; settings(): Settings }): Channel {
  const { db, log, mailer } = deps
  let complained: string | null = null

  async function letterOf(event: MailedEvent, entries: readonly AuditRow[]): Promise<Rendered> {
    const { app_url: appUrl } = deps.settings()
    switch (event) {
      case 'PENDING_REVIEW':
        return heldLetter(await Promise.all(entries.map((entry) => heldItem(db, entry))), appUrl)
      case 'DECISION':
        return decisionLetter(
          entries.map((entry) => ({
            ...subjectOf(entry),
            action: entry.outcome ?? 'decided',
            by: entry.username,
            justification: entry.detail,
            cves: texts(entry.extra['cve_ids']),
            expires: text(entry.extra['expires_at']),
            target: text(entry.extra['target_version']),
          })),
          appUrl,
        )
      case 'SLA_OVERDUE':
        return deadlineLetter(
          'overdue',
          entries.map((entry) => ({ ...subjectOf(entry), due: text(entry.extra['due_at']) })),
          appUrl,
        )
      case 'SLA_EXPIRING':
        return deadlineLetter('expiring', entries.flatMap(expiringItems), appUrl)
      default:
        return alertLetter(
          event,
          entries.map((entry) => ({ ...subjectOf(entry), what: entry.detail, at: entry.at })),
          appUrl,
        )
    }
  }

  return {
    name: 'mail',
    id: 2,
    limitMs: MAIL_LIMIT_MS,
    // A mail server takes minutes to restart.
    retryMs: [30_000, 300_000],
    isOn() {
      const { enabled, to_addresses: to } = deps.settings().email
      if (!enabled) return false
      const lacks = mailer.lacks() ?? (recipientsOf(to).length === 0 ? 'email.to_addresses' : null)
      if (lacks !== null && lacks !== complained) log.warn(`mail is enabled, but ${lacks} is not set: no mail is sent`)
      complained = lacks
      return lacks === null
    },
    async next(entries) {
      const events = await Promise.all(entries.map((entry) => mailedEventOf(db, entry)))
      const first = events.findIndex((event) => event !== null)
      const event = events[first]
      if (!event) return null
      const end =
        event === 'SLA_EXPIRING'
          ? first + 1
          : events.findIndex((other, at) => at > first && other !== null && other !== event)
      const mailed = entries.slice(first, end === -1 ? undefined : end).filter((_, at) => events[first + at] === event)
      const last = mailed.at(-1) as AuditRow
      return {
        upTo: last.seq as number,
        async send() {
          const to = recipientsOf(deps.settings().email.to_addresses)
          // The hash distinguishes entries of two services with the same number.
          const id = `audit-${last.seq}-${(last.hash ?? '').slice(0, 16)}`
          const { refused } = await mailer.send({ ...(await letterOf(event, mailed)), id, to, event })
          if (refused.length > 0) log.warn({ refused, audit_seq: last.seq }, 'some recipients of a mail were refused')
        },
      }
    },
  }
}

async function mailedEventOf(db: Db, entry: AuditRow): Promise<MailedEvent | null> {
  const event = eventOf(entry, await checksOf(db, entry), Infinity)
  return MAILED.find((mailed) => mailed === event) ?? null
}

/** Reads the current findings of the record. */
async function heldItem(db: Db, entry: AuditRow): Promise<HeldItem> {
  const { distribution, package: name, version, arch } = entry
  const item: HeldItem = { ...subjectOf(entry), findings: null, due: null, reason: entry.detail }
  if (distribution === null || name === null || version === null || arch === null) return item
  const row = await matchingRecords(db, { distribution, name, version, arch })
    .select(['id', 'review_due_at', 'last_scan'])
    .executeTakeFirst()
  if (!row) return item
  const findings: { cve: string; severity: Severity; in_kev: boolean }[] = await db
    .selectFrom('findings')
    .select(['cve', 'severity', 'in_kev'])
    .where('package_id', '=', row.id)
    .orderBy('risk', 'desc')
    .orderBy('cve')
    .execute()
  if (findings.length === 0 && row.last_scan === null) return { ...item, due: row.review_due_at }
  const exploited = findings.filter((finding) => finding.in_kev).map(({ cve }) => cve)
  return {
    ...item,
    due: row.review_due_at,
    findings: { worst: worstOfBits(severityBits(findings)), counts: countSeverities(findings), exploited },
  }
}

function expiringItems(entry: AuditRow): DeadlineItem[] {
  const { items } = entry.extra
  if (!Array.isArray(items)) return []
  return items.map((item: Record<string, unknown>) => ({
    package: text(item['package']),
    version: text(item['version']),
    arch: text(item['arch']),
    distribution: text(item['distribution']),
    due: text(item['due_at']),
  }))
}

const subjectOf = ({ package: name, version, arch, distribution }: AuditRow) => ({
  package: name,
  version,
  arch,
  distribution,
})
const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)
const texts = (value: unknown) => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [])
