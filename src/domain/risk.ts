// How findings compare: severity ranks, a sortable risk number, and a bit set of the severities that occur. Pure.
import { SEVERITIES, type Finding, type Severity } from './finding.ts'

/** 6 for Critical, down to 1 for Unknown. */
export function severityRank(severity: Severity): number {
  return SEVERITIES.length - SEVERITIES.indexOf(severity)
}

/** One bit per severity that occurs; Critical is bit 0. */
export function severityBits(findings: readonly { severity: Severity }[]): number {
  return findings.reduce((bits, { severity }) => bits | severityBit(severity), 0)
}

export function severityBit(severity: Severity): number {
  return 1 << SEVERITIES.indexOf(severity)
}

/** The worst severity among bits; null when there are none. */
export function worstOfBits(bits: number): Severity | null {
  return SEVERITIES.find((severity) => (bits & severityBit(severity)) !== 0) ?? null
}

/** A number that orders findings by severity, known exploitation, then EPSS. Fits 32 bits. */
export function riskOf(finding: Pick<Finding, 'severity' | 'in_kev' | 'epss'>): number {
  return (
    severityRank(finding.severity) * 10_000_000 +
    (finding.in_kev ? 5_000_000 : 0) +
    Math.round((finding.epss ?? 0) * 1_000_000)
  )
}

/** The risk of a package: the risk of its worst finding, 0 without findings. */
export function worstRisk(findings: readonly Pick<Finding, 'severity' | 'in_kev' | 'epss'>[]): number {
  return findings.reduce((worst, finding) => Math.max(worst, riskOf(finding)), 0)
}
