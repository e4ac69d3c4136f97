// How findings compare: ranks of severities, one number that orders by how bad it is, one that tells which occur. Pure.
import { SEVERITIES, type Finding, type Severity } from './finding.ts'

/** 6 for Critical, down to 1 for Unknown. */
export function severityRank(severity: Severity): number {
  return SEVERITIES.length - SEVERITIES.indexOf(severity)
}

/** One bit for each severity that occurs; Critical is bit 0. */
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

/** Orders findings: by severity, then known exploitation, then how likely exploitation is. Fits 32 bits. */
export function riskOf(finding: Pick<Finding, 'severity' | 'in_kev' | 'epss'>): number {
  return (
    severityRank(finding.severity) * 10_000_000 +
    (finding.in_kev ? 5_000_000 : 0) +
    Math.round((finding.epss ?? 0) * 1_000_000)
  )
}

/** A package is as risky as its worst finding; 0 without findings. */
export function worstRisk(findings: readonly Pick<Finding, 'severity' | 'in_kev' | 'epss'>[]): number {
  return findings.reduce((worst, finding) => Math.max(worst, riskOf(finding)), 0)
}
