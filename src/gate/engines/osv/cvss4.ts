// CVSS v4.0 scores by MacroVector and interpolation. Pure.
import { DEPTHS, HIGHEST, LEVELS, MACRO_SCORES, SETS } from './cvss4-tables.ts'

const BASE: Readonly<Record<string, string>> = {
  AV: 'NALP',
  AC: 'LH',
  AT: 'NP',
  PR: 'NLH',
  UI: 'NPA',
  VC: 'HLN',
  VI: 'HLN',
  VA: 'HLN',
  SC: 'HLN',
  SI: 'HLN',
  SA: 'HLN',
}

/** Metrics that may be absent; `X` means not defined. Supplemental ones have no part in the score. */
const OPTIONAL: Readonly<Record<string, string>> = {
  E: 'XAPU',
  CR: 'XHML',
  IR: 'XHML',
  AR: 'XHML',
  MAV: 'XNALP',
  MAC: 'XLH',
  MAT: 'XNP',
  MPR: 'XNLH',
  MUI: 'XNPA',
  MVC: 'XHLN',
  MVI: 'XHLN',
  MVA: 'XHLN',
  MSC: 'XHLN',
  MSI: 'XSHLN',
  MSA: 'XSHLN',
  S: 'XNP',
  AU: 'XNY',
  R: 'XAUI',
  V: 'XDC',
  RE: 'XLMH',
}

const URGENCY = ['X', 'Clear', 'Green', 'Amber', 'Red']

/**
 * The score of a v4.0 vector with whatever threat and environmental metrics it carries.
 * https://www.first.org/cvss/v4.0/specification-document#CVSS-v4-0-Scoring
 * @param metrics name and value, without the prefix
 * @returns 0-10 with one decimal; null when a metric is missing, unknown or has a value that does not exist
 */
export function cvss4Score(metrics: ReadonlyMap<string, string>): number | null {
  for (const [name, value] of metrics) {
    const allowed = BASE[name] ?? OPTIONAL[name]
    const good = name === 'U' ? URGENCY.includes(value) : value.length === 1 && allowed?.includes(value) === true
    if (!good) return null
  }
  if (Object.keys(BASE).some((name) => !metrics.has(name))) return null
  const value = (name: string) => effective(metrics, name)
  if (['VC', 'VI', 'VA', 'SC', 'SI', 'SA'].every((name) => value(name) === 'N')) return 0
  return interpolate(value, macroVector(value))
}

function effective(metrics: ReadonlyMap<string, string>, name: string): string {
  const given = (key: string) => {
    const value = metrics.get(key)
    return value === 'X' ? undefined : value
  }
  // Not defined means the worst case for these.
  if (name === 'E') return given('E') ?? 'A'
  if (name === 'CR' || name === 'IR' || name === 'AR') return given(name) ?? 'H'
  return given(`M${name}`) ?? metrics.get(name)!
}

interface MacroVector {
  eq1: number
  eq2: number
  /** EQ3 and EQ6 together: they are not independent */
  eq3: number
  eq6: number
  eq4: number
  eq5: number
}

function macroVector(value: (name: string) => string): MacroVector {
  const is = (name: string, wanted: string) => value(name) === wanted
  const easy = [is('AV', 'N'), is('PR', 'N'), is('UI', 'N')]
  const eq1 = easy.every(Boolean) ? 0 : easy.some(Boolean) && !is('AV', 'P') ? 1 : 2
  const eq3 = is('VC', 'H') && is('VI', 'H') ? 0 : is('VC', 'H') || is('VI', 'H') || is('VA', 'H') ? 1 : 2
  const safety = is('SI', 'S') || is('SA', 'S')
  const eq4 = safety ? 0 : is('SC', 'H') || is('SI', 'H') || is('SA', 'H') ? 1 : 2
  const required = (['C', 'I', 'A'] as const).some((axis) => is(`${axis}R`, 'H') && is(`V${axis}`, 'H'))
  return {
    eq1,
    eq2: is('AC', 'L') && is('AT', 'N') ? 0 : 1,
    eq3,
    eq4,
    eq5: 'APU'.indexOf(value('E')),
    eq6: required ? 0 : 1,
  }
}

function scoreOf({ eq1, eq2, eq3, eq4, eq5, eq6 }: MacroVector): number | null {
  if (eq4 > 2 || eq5 > 2) return null
  const tenths = MACRO_SCORES[`${eq1}${eq2}${eq3}${eq6}`]?.split(' ')[eq4 * 3 + eq5]
  return tenths === undefined ? null : Number(tenths) / 10
}

function interpolate(value: (name: string) => string, macro: MacroVector): number {
  const top = scoreOf(macro)!
  const lower = (change: Partial<MacroVector>) => scoreOf({ ...macro, ...change })
  const both = `${macro.eq3}${macro.eq6}`
  const steps: { distance: number; below: number | null }[] = [
    { distance: share('eq1', String(macro.eq1), value), below: lower({ eq1: macro.eq1 + 1 }) },
    { distance: share('eq2', String(macro.eq2), value), below: lower({ eq2: macro.eq2 + 1 }) },
    { distance: share('eq3', both, value), below: lowerEq3(macro, lower) },
    { distance: share('eq4', String(macro.eq4), value), below: lower({ eq4: macro.eq4 + 1 }) },
    { distance: 0, below: lower({ eq5: macro.eq5 + 1 }) },
  ]
  const open = steps.filter((step): step is { distance: number; below: number } => step.below !== null)
  const mean = open.length === 0 ? 0 : open.reduce((sum, s) => sum + (top - s.below) * s.distance, 0) / open.length
  // Binary fractions fall short of a half that is exact in decimal.
  return Math.round(Math.min(10, Math.max(0, top - mean)) * 10 + 1e-6) / 10
}

function lowerEq3(macro: MacroVector, lower: (change: Partial<MacroVector>) => number | null): number | null {
  if (macro.eq3 === 1 && macro.eq6 === 0) return lower({ eq6: 1 })
  if (macro.eq3 === 0 && macro.eq6 === 0) {
    const paths = [lower({ eq6: 1 }), lower({ eq3: 1 })].filter((score) => score !== null)
    return paths.length === 0 ? null : Math.max(...paths)
  }
  return lower({ eq3: macro.eq3 + 1 })
}

/** How far below the level's highest vector it lies, as a share of the level's depth. */
function share(set: keyof typeof SETS, level: string, value: (name: string) => string): number {
  const own = SETS[set].map((name) => LEVELS[name]!.indexOf(value(name)))
  for (const highest of HIGHEST[set][level] ?? []) {
    const below = own.map((step, i) => step - Number(highest[i]))
    if (below.every((steps) => steps >= 0)) return below.reduce((sum, steps) => sum + steps, 0) / DEPTHS[set][level]!
  }
  return 0
}
