// Decides from the evidence about a package: its status, whether it is served, and the action of each finding. The only
// place that does, for every check and every way of arrival (docs/api-decisions.md, sections 6 and 7). Pure.
import { isCovered, reasonsToAsk, type ReviewReason, type ActiveDecision } from './acceptance.ts'
import type { Evidence, Found, Seen } from './evidence.ts'
import { countSeverities, vulnerabilities, type Finding, type PolicyAction } from './finding.ts'
import { actionFor, worstAction, type PolicyActions } from './policy.ts'
import { openFindings, reviewDueAt, type ReviewDays } from './review-due.ts'
import type { Settings } from './settings.ts'
import type { CveStatus, HeldReason, Outcome, PackageStatus, PipelineKey, PipelineResult, Verdict } from './status.ts'
import { servedAfter, transitionOf, type RecordState, type StatusEvent } from './transitions.ts'

export interface Policy {
  cve_policy: PolicyActions & ReviewDays
  validation: Pick<Settings['validation'], 'on_unscanned' | 'on_uninstallable' | 'gpg_required'>
}

/** The package as it is before the decision. */
export interface Subject {
  status: RecordState
  served: boolean
  /** results of earlier checks */
  pipeline: Readonly<Record<string, string>>
  /** the findings that it was judged by before */
  findings: readonly Finding[]
  held_reason: HeldReason | null
  /** a copy of a published record of another distribution, with the decisions about it */
  isCopy?: boolean
  /** a library of a repository: unlike a distribution's package, it is withdrawn once an advisory calls it malicious */
  isLibrary?: boolean | undefined
}

export const ARRIVING: Subject = { status: 'absent', served: false, pipeline: {}, findings: [], held_reason: null }

export interface Decision {
  event: StatusEvent
  status: PackageStatus
  served: boolean
  /** why the package is held because of this evidence */
  heldReason: HeldReason | null
  /** deadline of the review that this decision begins; null without a deadline */
  dueAt: Date | null
  /** null when the evidence has no vulnerability scan */
  cveStatus: CveStatus | null
  verdicts: Verdict[]
  /** null when no check looked for findings */
  findings: Finding[] | null
  /** what a person has to be asked about after a later check */
  reasons: ReviewReason[]
  /** the package is answered with this problem, and nothing may be stored */
  turnedAway: { code: 'scanner_unavailable' | 'scan_incomplete'; message: string } | null
}

/** Results of a scan that ran, or should have run, without judging the package. */
const UNSCANNED: readonly string[] = ['limited', 'no_data', 'error']
const BY_ACTION: Record<PolicyAction, { result: PipelineResult; outcome: Outcome }> = {
  block: { result: 'blocked', outcome: 'refuse' },
  review: { result: 'review', outcome: 'hold' },
  warn: { result: 'warning', outcome: 'warn' },
  allow: { result: 'allowed', outcome: 'pass' },
}
const CVE_STATUS: Record<Outcome, CveStatus> = {
  pass: 'approved',
  warn: 'approved',
  hold: 'pending_review',
  refuse: 'blocked',
}

/** @param decisions those in force for the package */
export function decide(
  policy: Policy,
  subject: Subject,
  evidence: Evidence,
  decisions: readonly ActiveDecision[],
  now: Date,
): Decision {
  const verdicts = evidence.checks.map((seen) => verdictOf(policy, seen, subject.status === 'absent'))
  const found = evidence.findings ?? evidence.checks.find((seen) => seen.findings)?.findings
  const findings =
    found?.map((one) => ({
      ...withAction(policy, one),
      accepted_by_decision: isCovered(one, decisions),
    })) ?? null
  const reasons = reasonsToAsk(subject.findings, findings ?? [], decisions)
  const weighed = weigh(evidence, verdicts, findings ?? [])
  const known = { subject, verdicts, weighed, reasons, decisions }
  const event = isMalicious(subject, findings ?? [])
    ? (WITHDRAWN[subject.status] ?? EVENTS[subject.status](known))
    : EVENTS[subject.status](known)
  const transition = transitionOf(subject.status, event)
  if (!transition) throw new Error(`no transition ${event} from ${subject.status}`)
  const turned = subject.status === 'absent' && policy.validation.on_unscanned === 'refuse'
  const unjudged = turned ? verdicts.find(isUnjudged) : undefined
  const open = openFindings(findings ?? [])
  const asked = event === 'reopen' ? open.filter(({ id }) => reasons.some((reason) => reason.id === id)) : open
  const pipeline = { ...subject.pipeline, ...resultsOf(verdicts) }
  const cve = weighed.find(({ check }) => check === 'cve_scan')
  return {
    event,
    status: transition.to as PackageStatus,
    served: servedAfter(transition, subject.served),
    heldReason: transition.to === 'pending_review' ? heldReasonOf(weighed) : null,
    dueAt: reviewDueAt(now, asked, event !== 'reopen' && isUnscanned(pipeline), policy.cve_policy),
    cveStatus: cve ? CVE_STATUS[cve.outcome] : null,
    verdicts,
    findings,
    reasons,
    turnedAway: unjudged
      ? { code: unjudged.result === 'error' ? 'scanner_unavailable' : 'scan_incomplete', message: unjudged.message }
      : null,
  }
}

/** Whether a scan that was requested could not judge the package. */
export function isUnscanned(pipeline: Readonly<Record<string, string>>): boolean {
  return ['antivirus', 'cve_scan'].some((key) => UNSCANNED.includes(pipeline[key] ?? ''))
}
export const resultsOf = (verdicts: readonly Verdict[]): Record<string, PipelineResult> =>
  Object.fromEntries(verdicts.map(({ check, result }) => [check, result]))
const isUnjudged = ({ check, result }: Verdict) => isUnscanned({ [check]: result })

/** The policy's verdict on a single check. */
export function verdictOf(policy: Policy, seen: Seen, isArriving: boolean): Verdict {
  const { check, message, detail, coverage } = seen
  const name = check === 'cve_scan' ? 'cve' : check
  const said = { check, name, message, ...(coverage ? { coverage } : {}) }
  if (seen.result === 'scanned') {
    const findings = (seen.findings ?? []).map((one) => withAction(policy, one))
    if (findings.length === 0)
      return { ...said, outcome: 'pass', result: 'no_findings', message: 'no known vulnerabilities' }
    const worst = worstAction(findings)
    const text = `${vulnerabilities(findings.length)}; the policy says ${worst}`
    return { ...said, ...BY_ACTION[worst], message: text, detail: countSeverities(findings) }
  }
  const result = resultOf(policy, seen)
  const outcome = outcomeOf(policy, result, seen.concern === true, isArriving)
  const isUnmet = outcome === 'refuse' && result !== 'invalid' && check === 'gpg'
  return {
    ...said,
    outcome,
    result,
    message: isUnmet ? `${message}, and the settings require a known signature` : message,
    ...(detail === undefined ? {} : { detail }),
  }
}

function resultOf({ validation }: Policy, { result, received }: Seen): PipelineResult {
  // Skipped only if no engine is configured and none is required: the default of development.
  if (result === 'no_engine') return validation.on_unscanned === 'allow' ? 'skipped' : 'error'
  if (result === 'scanned') throw new Error('findings are judged by the CVE policy')
  // Our own signature does not replace the required one.
  return validation.gpg_required && received ? received : result
}

function outcomeOf({ validation }: Policy, result: PipelineResult, concerns: boolean, isArriving: boolean): Outcome {
  switch (result) {
    case 'infected':
    case 'invalid':
      return 'refuse'
    case 'limited':
    case 'no_data':
    case 'error':
      // A stored package waits for a scan that can judge it.
      if (!isArriving) return 'hold'
      return ({ hold: 'hold', allow: 'warn', refuse: 'refuse' } as const)[validation.on_unscanned]
    case 'unsigned':
    case 'unverified':
      return validation.gpg_required ? 'refuse' : 'warn'
    case 'breaks_others':
      return validation.on_uninstallable === 'hold' ? 'hold' : 'warn'
    case 'withheld':
      return 'hold'
    case 'missing':
      return 'warn'
    default:
      return concerns ? 'warn' : 'pass'
  }
}

export function withAction({ cve_policy }: Pick<Policy, 'cve_policy'>, found: Found): Finding {
  return { ...found, action: found.action ?? actionFor(cve_policy, found.severity) }
}

type Weighed = Pick<Verdict, 'check' | 'outcome' | 'result'>

/** The verdicts as they count for the status: accepted findings do not count. */
function weigh({ checks }: Evidence, verdicts: readonly Verdict[], findings: readonly Finding[]): Weighed[] {
  const others = verdicts.filter((_, at) => checks[at]?.result !== 'scanned')
  if (others.length === verdicts.length && findings.length === 0) return others
  const action = worstAction(findings.filter((finding) => !finding.accepted_by_decision))
  return [...others, { check: 'cve_scan', ...BY_ACTION[action] }]
}

interface Weighing {
  subject: Subject
  verdicts: readonly Verdict[]
  weighed: readonly Weighed[]
  reasons: readonly ReviewReason[]
  decisions: readonly ActiveDecision[]
}

const EVENTS: Record<RecordState, (known: Weighing) => StatusEvent> = {
  absent({ subject, weighed }) {
    if (weighed.some(({ outcome }) => outcome === 'refuse')) return 'arrive_refused'
    return weighed.some(({ outcome }) => outcome === 'hold')
      ? 'arrive_held'
      : subject.isCopy
        ? 'place'
        : 'arrive_passed'
  },
  published: ({ reasons }) => (reasons.length > 0 ? 'reopen' : 'refresh'),
  // Released or refused without a person only if it was held because it could not be scanned and nobody has decided about it.
  pending_review({ subject, verdicts, decisions }) {
    const isLookedAt = verdicts.some(({ check }) => check === 'antivirus')
    if (!isLookedAt || !isHeldUnscanned(subject) || decisions.length > 0) return 'refresh'
    if (causeLeft(subject, verdicts)) return 'quarantine'
    return isComplete(verdicts) && !verdicts.some(({ outcome }) => outcome === 'hold') ? 'pass' : 'refresh'
  },
  quarantined: ({ subject, verdicts }) => (isComplete(verdicts) && !causeLeft(subject, verdicts) ? 'clear' : 'refresh'),
  rejected: () => 'refresh',
}

/** What happens to a malicious library; in the other states it stays refused. */
const WITHDRAWN: Partial<Record<RecordState, StatusEvent>> = {
  absent: 'arrive_refused',
  published: 'malicious',
  pending_review: 'malicious',
}

/** `MAL-` advisories describe malicious code, not a vulnerability (https://github.com/ossf/malicious-packages). */
function isMalicious({ isLibrary }: Subject, findings: readonly Finding[]): boolean {
  const says = ({ id, aliases = [] }: Finding) => [id, ...aliases].some((one) => one.startsWith('MAL-'))
  return isLibrary === true && findings.some((finding) => !finding.accepted_by_decision && says(finding))
}

/** Held at its arrival only because a scan could not be made. */
export function isHeldUnscanned({ status, held_reason, served }: Pick<Subject, 'status' | 'held_reason' | 'served'>) {
  return status === 'pending_review' && held_reason === 'unscanned' && !served
}

/** Whether the whole file was checked again: the signature is the last check that can refuse it. */
const isComplete = (verdicts: readonly Verdict[]) => verdicts.some(({ check }) => check === 'gpg')

/**
 * Whether a stored package has a reason to be quarantined. An infection ends with a scan that finds the file clean, and
 * a blocking finding with a scan that does not report it; a scan that cannot judge ends neither.
 */
export function causeLeft({ pipeline }: Pick<Subject, 'pipeline'>, verdicts: readonly Verdict[]): boolean {
  const now = (check: PipelineKey) => verdicts.find((verdict) => verdict.check === check)
  const malware = now('antivirus')
  return (
    verdicts.some(({ outcome }) => outcome === 'refuse') ||
    (malware !== undefined && pipeline['antivirus'] === 'infected' && malware.result !== 'clean') ||
    (now('cve_scan')?.result ?? pipeline['cve_scan']) === 'blocked'
  )
}

/** A finding is the reason even if a scan also failed, because it tells a reviewer more. */
function heldReasonOf(weighed: readonly Weighed[]): HeldReason | null {
  const held = weighed.filter(({ outcome }) => outcome === 'hold')
  if (held.some(({ result }) => result === 'review')) return 'cve_review'
  const [first] = held
  if (!first) return null
  return HELD_BY[first.result] ?? 'unscanned'
}

const HELD_BY: Partial<Record<PipelineResult, HeldReason>> = { breaks_others: 'breaks_others', withheld: 'curation' }
