// Scores and ratings of CVSS vectors, versions 2.0 to 4.0. Pure.
import type { Severity } from '../../../domain/finding.ts'
import { cvss4Score } from './cvss4.ts'

export interface CvssScore {
  version: '2.0' | '3.0' | '3.1' | '4.0'
  /** 0-10, one decimal */
  score: number
}

/**
 * The base score of a vector; of a v4.0 vector the score with its threat and environmental metrics, as that version
 * has only one. The version is told from the prefix, v2 vectors have none.
 * @returns null when it is no vector
 */
export function cvssScore(vector: string): CvssScore | null {
  const prefix = /^CVSS:(3\.0|3\.1|4\.0)\//.exec(vector)
  const body = prefix ? vector.slice(prefix[0].length) : vector.replace(/^\((.*)\)$/, '$1')
  const metrics = new Map<string, string>()
  for (const part of body.split('/')) {
    const [name, value, ...rest] = part.split(':')
    // Metric names are looked up in objects: nothing that an object inherits may pass.
    if (rest.length > 0 || !/^[A-Z][A-Za-z]{0,2}$/.test(name ?? '') || !/^[A-Z][A-Za-z]{0,4}$/.test(value ?? ''))
      return null
    if (metrics.has(name!)) return null
    metrics.set(name!, value!)
  }
  const version = (prefix?.[1] ?? '2.0') as CvssScore['version']
  const score = version === '2.0' ? v2(metrics) : version === '4.0' ? cvss4Score(metrics) : v3(metrics)
  return score === null ? null : { version, score }
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

type Weights = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Fills `into` with the weights of the mandatory metrics; false when one is missing or has no such value. */
function weigh(metrics: ReadonlyMap<string, string>, mandatory: Weights, optional: Readonly<Record<string, string>>) {
  const weights: Record<string, number> = {}
  for (const [name, values] of Object.entries(mandatory)) {
    const weight = values[metrics.get(name) ?? '']
    if (weight === undefined) return null
    weights[name] = weight
  }
  for (const [name, value] of metrics) {
    if (name in mandatory) continue
    if (!optional[name]?.split(' ').includes(value)) return null
  }
  return weights as Readonly<Record<string, number>>
}

const V2: Weights = {
  AV: { L: 0.395, A: 0.646, N: 1 },
  AC: { H: 0.35, M: 0.61, L: 0.71 },
  Au: { M: 0.45, S: 0.56, N: 0.704 },
  C: { N: 0, P: 0.275, C: 0.66 },
  I: { N: 0, P: 0.275, C: 0.66 },
  A: { N: 0, P: 0.275, C: 0.66 },
}
const V2_OPTIONAL = {
  E: 'U POC F H ND',
  RL: 'OF TF W U ND',
  RC: 'UC UR C ND',
  CDP: 'N L LM MH H ND',
  TD: 'N L M H ND',
  CR: 'L M H ND',
  IR: 'L M H ND',
  AR: 'L M H ND',
}

/** https://www.first.org/cvss/v2/guide (section 3.2.1) */
function v2(metrics: ReadonlyMap<string, string>): number | null {
  const w = weigh(metrics, V2, V2_OPTIONAL)
  if (!w) return null
  const impact = 10.41 * (1 - (1 - w['C']!) * (1 - w['I']!) * (1 - w['A']!))
  const exploitability = 20 * w['AV']! * w['AC']! * w['Au']!
  const score = impact === 0 ? 0 : (0.6 * impact + 0.4 * exploitability - 1.5) * 1.176
  return Math.round(score * 10 + 1e-9) / 10
}

const IMPACT = { N: 0, L: 0.22, H: 0.56 }
const V3: Weights = {
  AV: { N: 0.85, A: 0.62, L: 0.55, P: 0.2 },
  AC: { L: 0.77, H: 0.44 },
  PR: { N: 0.85, L: 0.62, H: 0.27 },
  UI: { N: 0.85, R: 0.62 },
  S: { U: 0, C: 1 },
  C: IMPACT,
  I: IMPACT,
  A: IMPACT,
}
const V3_OPTIONAL = {
  E: 'X U P F H',
  RL: 'X O T W U',
  RC: 'X U R C',
  CR: 'X L M H',
  IR: 'X L M H',
  AR: 'X L M H',
  MAV: 'X N A L P',
  MAC: 'X L H',
  MPR: 'X N L H',
  MUI: 'X N R',
  MS: 'X U C',
  MC: 'X N L H',
  MI: 'X N L H',
  MA: 'X N L H',
}

/** https://www.first.org/cvss/v3.1/specification-document#7-1-Base-Metrics-Equations */
function v3(metrics: ReadonlyMap<string, string>): number | null {
  const w = weigh(metrics, V3, V3_OPTIONAL)
  if (!w) return null
  const changed = w['S'] === 1
  const iss = 1 - (1 - w['C']!) * (1 - w['I']!) * (1 - w['A']!)
  const impact = changed ? 7.52 * (iss - 0.029) - 3.25 * (iss - 0.02) ** 15 : 6.42 * iss
  if (impact <= 0) return 0
  // Privileges weigh less where the scope changes.
  const privileges = changed ? { N: 0.85, L: 0.68, H: 0.5 }[metrics.get('PR') as 'N' | 'L' | 'H'] : w['PR']!
  const exploitability = 8.22 * w['AV']! * w['AC']! * privileges * w['UI']!
  return roundUp(Math.min(10, (changed ? 1.08 : 1) * (impact + exploitability)))
}

/** Specification 3.1, appendix A: rounding up that binary fractions cannot disturb. */
function roundUp(value: number): number {
  const whole = Math.round(value * 100_000)
  return whole % 10_000 === 0 ? whole / 100_000 : (Math.floor(whole / 10_000) + 1) / 10
}
