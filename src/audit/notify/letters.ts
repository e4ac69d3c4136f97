// The content of each mail (docs/api-decisions.md, section 19). Pure.
import { SEVERITIES, type Severity, type SeverityCounts, type SeverityKey } from '../../domain/finding.ts'
import { appPage, type PageSubject } from '../../domain/app-page.ts'
import { isoTime } from '../../kernel/clock.ts'
import { pageOf, type NotifiedEvent } from './events.ts'
import { render, type Item, type Rendered } from './letter.ts'

export interface HeldItem extends PageSubject {
  /** its current findings; null when the record is deleted or was never scanned */
  findings: { worst: Severity | null; counts: SeverityCounts; exploited: readonly string[] } | null
  due: Date | null
  reason: string | null
}

export interface DeadlineItem extends PageSubject {
  due: string | null
}

export interface DecidedItem extends PageSubject {
  /** the action, such as `approve`, or `assigned` */
  action: string
  by: string | null
  justification: string | null
  cves: readonly string[]
  expires: string | null
  target: string | null
}

export interface AlertItem extends PageSubject {
  what: string | null
  at: Date
}

/** Most names in a list; there may be hundreds. */
const MOST_NAMES = 20

export function heldLetter(items: readonly HeldItem[], appUrl: string): Rendered {
  const page = linksTo(appUrl)
  const [only] = items
  const exploited = items.filter(({ findings }) => findings !== null && findings.exploited.length > 0).length
  return render({
    subject:
      items.length === 1 && only
        ? `${nameOf(only)} waits for a decision${exploited ? ': known to be exploited' : ''}`
        : `${items.length} packages wait for a decision${exploited ? `, ${exploited} of them known to be exploited` : ''}`,
    intro: [
      items.length === 1 ? 'This package waits for a decision.' : `These ${items.length} packages wait for a decision.`,
    ],
    items: items.map((item) => ({
      title: titleOf(item),
      url: page('PENDING_REVIEW', item),
      facts: [
        ...findingFacts(item),
        ...fact('Why', item.reason),
        ...fact('To be decided by', item.due && isoTime(item.due)),
      ],
    })),
    link: { label: 'Review in Gatehouse', url: page('PENDING_REVIEW') },
  })
}

function findingFacts({ findings }: HeldItem): [string, string][] {
  if (findings === null) return []
  const { worst, counts, exploited } = findings
  const listed = SEVERITIES.map(
    (severity) => [severity.toLowerCase(), counts[severity.toLowerCase() as SeverityKey]] as const,
  ).filter(([, count]) => count > 0)
  return [
    ['Worst severity', worst ?? 'none'],
    ['Vulnerabilities', listed.map(([severity, count]) => `${count} ${severity}`).join(', ') || 'none known'],
    ['Known to be exploited', exploited.length === 0 ? 'none' : names(exploited)],
  ]
}

export function deadlineLetter(kind: 'expiring' | 'overdue', items: readonly DeadlineItem[], appUrl: string): Rendered {
  const page = linksTo(appUrl)
  const event = kind === 'overdue' ? 'SLA_OVERDUE' : 'SLA_EXPIRING'
  const many = items.length === 1 ? '1 deadline' : `${items.length} deadlines`
  return render({
    subject: kind === 'overdue' ? `${many} missed` : `${many} within a week`,
    intro: [
      kind === 'overdue'
        ? 'The time to decide on these packages has passed:'
        : 'The time to decide on these packages ends within a week:',
    ],
    items: items.map((item) => ({
      title: titleOf(item),
      url: page(event, item),
      facts: fact(kind === 'overdue' ? 'Was due' : 'Due', item.due),
    })),
    link: { label: 'Decide in Gatehouse', url: page(event) },
  })
}

export function decisionLetter(items: readonly DecidedItem[], appUrl: string): Rendered {
  const page = linksTo(appUrl)
  const [only] = items
  return render({
    subject: items.length === 1 && only ? `${nameOf(only)}: ${wordOf(only.action)}` : `${items.length} decisions`,
    intro: [items.length === 1 ? 'A decision was recorded.' : `${items.length} decisions were recorded.`],
    items: items.map((item) => ({
      title: titleOf(item),
      url: page('DECISION', item),
      facts: [
        ['Decision', wordOf(item.action)] as const,
        ...fact('By', item.by),
        ...fact(item.action === 'assigned' ? 'Note' : 'Justification', item.justification),
        ...fact('Vulnerabilities', item.cves.length === 0 ? null : names(item.cves)),
        ...fact('Version asked for', item.target),
        ...fact('Ends', item.expires),
      ],
    })),
    link: { label: 'All decisions in Gatehouse', url: page('DECISION') },
  })
}

/** The text of each alert for one item, and for several. */
const ALERTS = {
  ANTIVIRUS_HIT: ['malware was found in a package', 'packages have malware'],
  INTEGRITY_ALERT: ['files differ from what was stored', 'integrity alerts'],
  SCHEDULER_JOB_FAILED: ['a scheduled job failed', 'scheduled jobs failed'],
  SYNC_RESULT: ['a source could not be read', 'syncs failed'],
  MIRROR_RESULT: ['a mirror run failed', 'mirror runs failed'],
} as const

export function alertLetter(event: keyof typeof ALERTS, items: readonly AlertItem[], appUrl: string): Rendered {
  const page = linksTo(appUrl)
  const [one, several] = ALERTS[event]
  const what = items.length === 1 ? one : `${items.length} ${several}`
  return render({
    subject: what,
    intro: [`${what.charAt(0).toUpperCase()}${what.slice(1)}.`],
    items: items.map((item) => ({
      title: item.package === null ? one : titleOf(item),
      url: page(event, item),
      facts: [...fact('What', item.what), ['When', isoTime(item.at)] as const],
    })),
    link: { label: 'See it in Gatehouse', url: page(event) },
  })
}

export function testLetter(by: string, at: Date, appUrl: string): Rendered {
  return render({
    subject: 'test mail',
    intro: ['This is a test: mails of this Gatehouse arrive here.', `Asked for by ${by} at ${isoTime(at)}.`],
    link: { label: 'Gatehouse', url: appUrl },
  })
}

export function resetLetter(username: string, link: string, minutes: number): Rendered {
  return render({
    subject: 'set a new password',
    intro: [
      `Somebody, hopefully you, asked for a new password for the account ${username}.`,
      `The link below sets it. It works once, within ${minutes} minutes.`,
      'If it was not you, do nothing: the password stays as it is.',
    ],
    link: { label: 'Set a new password', url: link },
    closing: 'Sent by Gatehouse because a new password was asked for.',
  })
}

const ALL: PageSubject = { package: null, version: null, arch: null, distribution: null }

const linksTo =
  (appUrl: string) =>
  (event: NotifiedEvent, about: PageSubject = ALL) =>
    appPage(appUrl, pageOf(event, about))

const WORDS: Record<string, string> = {
  accept_risk: 'risk accepted',
  exception: 'accepted for a time',
  reject: 'rejected',
  upgrade_required: 'upgrade required',
}

const wordOf = (action: string) => WORDS[action] ?? action.replaceAll('_', ' ')

const nameOf = (about: PageSubject) =>
  [about.package, about.version, about.distribution && `in ${about.distribution}`].filter(Boolean).join(' ') ||
  'a package'

const titleOf = (about: PageSubject) =>
  [
    about.package ?? 'a package',
    about.version,
    about.arch && `(${about.arch})`,
    about.distribution && `in ${about.distribution}`,
  ]
    .filter(Boolean)
    .join(' ')

const fact = (label: string, value: string | null): Item['facts'] => (value ? [[label, value]] : [])

const names = (all: readonly string[]) =>
  all.slice(0, MOST_NAMES).join(', ') + (all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more` : '')
