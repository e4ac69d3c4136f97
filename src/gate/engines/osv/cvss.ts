// Scores and ratings of CVSS vectors, versions 2.0 to 4.0. Pure. The library takes 0.7 ms for a vector of version 4.0, 25 µs for others.
import calculator from 'ae-cvss-calculator'
import type { Severity } from '../../../domain/finding.ts'

const { Cvss2, Cvss3P0, Cvss3P1, Cvss4P0 } = calculator

export interface CvssScore {
  version: '2.0' | '3.0' | '3.1' | '4.0'
  /** 0-10, one decimal */
  score: number
}

/**
 * The base score of a vector; of a v4.0 vector the score with its threat and environmental metrics, as that version
 * has only one. The prefix gives the version; v2 vectors have none.
 * @returns null when it is no vector
 */
export function cvssScore(vector: string): CvssScore | null {
  const prefix = /^CVSS:(3\.0|3\.1|4\.0)\//.exec(vector)
  const version = (prefix?.[1] ?? '2.0') as CvssScore['version']
  const metrics = prefix ? vector.slice(prefix[0].length) : vector.replace(/^\((.*)\)$/, '$1')
  const names = metrics.split('/').map((metric) => METRIC.exec(metric)?.[1])
  // The library takes the last of several values of a metric, and ignores what is not a metric.
  if (names.includes(undefined) || new Set(names).size < names.length) return null
  try {
    const score = scoreOf(version, metrics)
    return score === null ? null : { version, score }
  } catch {
    return null
  }
}

const METRIC = /^([A-Z][A-Za-z]{0,2}):[A-Z][A-Za-z]{0,4}$/

/** @throws for metrics and values that the version does not have @returns null when a base metric is missing */
function scoreOf(version: CvssScore['version'], metrics: string): number | null {
  if (version === '4.0') {
    // Only the modified metrics may have the value Safety; the library does not enforce this.
    if (/\bS[CIA]:S/.test(metrics)) return null
    const vector = new Cvss4P0(`CVSS:4.0/${metrics}`)
    return vector.isBaseFullyDefined() ? vector.calculateScores().overall : null
  }
  const vector =
    version === '2.0' ? new Cvss2(metrics) : new (version === '3.0' ? Cvss3P0 : Cvss3P1)(`CVSS:${version}/${metrics}`)
  return vector.isBaseFullyDefined() ? (vector.calculateScores().base ?? null) : null
}

/**
 * Qualitative rating: for v3 and v4 the specification's scale, where no impact at all becomes Negligible; for v2 the
 * scale of the National Vulnerability Database, which knows no Critical.
 * https://www.first.org/cvss/v3.1/specification-document#Qualitative-Severity-Rating-Scale
 */
export function cvssRating({ version, score }: CvssScore): Severity {
  if (score === 0) return 'Negligible'
  if (score < 4) return 'Low'
  if (score < 7) return 'Medium'
  return score < 9 || version === '2.0' ? 'High' : 'Critical'
}
