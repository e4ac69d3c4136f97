// Merges the findings of one engine's new scan into a package's findings. Pure.
import { aliasesAmong } from '../domain/advisory-id.ts'
import type { Found } from '../domain/evidence.ts'
import type { Finding } from '../domain/finding.ts'
import { canonicalJson } from '../domain/json.ts'
import { FORMATS } from '../formats/index.ts'
import { severityRank } from '../domain/risk.ts'
import { COMPONENT_ENGINE } from '../gate/engines/components/match.ts'

/** A finding as engines report it. */
export type MergedFinding = Omit<Finding, 'action' | 'first_seen' | 'accepted_by_decision'>

/** Everything one engine finds in a package now. */
export interface EngineFindings {
  engine: string
  findings: readonly MergedFinding[]
}

/**
 * An engine's scan changes only its own findings: findings of other engines stay, and a finding that only this engine had
 * reported is dropped when it no longer reports it.
 * @param engines the existing engines, the most trusted first; findings of all others are dropped
 * @param now ISO time
 */
export function mergeFindings(
  known: readonly Finding[],
  seen: EngineFindings,
  engines: readonly string[],
  now: string,
): Found[] {
  const before = new Map(known.map((finding) => [finding.id, finding]))
  const others = (finding: Finding | undefined) =>
    finding?.sources.filter((source) => source !== seen.engine && engines.includes(source)) ?? []
  const found = seen.findings.map((raw): Found => {
    const then = before.get(raw.id)
    // A finding reported again is judged by the current policy.
    const {
      components: _,
      action: _then,
      ...said
    }: MergedFinding & { action?: unknown } = then && outweighs(then, raw, others(then), seen.engine, engines)
      ? then
      : raw
    const components = (seen.engine === COMPONENT_ENGINE ? raw : then)?.components
    return {
      ...said,
      ...(components ? { components } : {}),
      // Enrichment comes from elsewhere: an engine that does not know it does not remove it.
      epss: raw.epss ?? then?.epss ?? null,
      epss_percent: raw.epss_percent ?? then?.epss_percent ?? null,
      epss_label: raw.epss_label ?? then?.epss_label ?? null,
      in_kev: raw.in_kev || (then?.in_kev ?? false),
      sources: [...new Set([...others(then), ...raw.sources, seen.engine])].sort(),
      // No row says which engine knew which alias: older aliases stay while another engine still reports the finding.
      aliases: aliasesAmong(raw.id, [
        ...(raw.aliases ?? []),
        ...(others(then).length > 0 ? (then?.aliases ?? []) : []),
      ]),
      first_seen: then?.first_seen ?? now,
      accepted_by_decision: then?.accepted_by_decision ?? false,
    }
  })
  const ids = new Set(found.map((finding) => finding.id))
  const kept = known.flatMap((finding) => {
    const sources = others(finding)
    if (ids.has(finding.id) || sources.length === 0) return []
    const { components, ...rest } = finding
    // Components are listed for as long as the engine that found them reports them.
    return [{ ...rest, sources, ...(components && sources.includes(COMPONENT_ENGINE) ? { components } : {}) }]
  })
  return [...found, ...kept]
}

/**
 * Whether an earlier report of a finding stays. When engines report one vulnerability for the package and for a library
 * inside it, the higher severity wins, regardless of the order of scans. When they report it for the same thing, the earlier
 * engine in `engines` wins.
 */
function outweighs(
  then: Finding,
  now: MergedFinding,
  others: readonly string[],
  engine: string,
  engines: readonly string[],
): boolean {
  if (others.length === 0) return false
  if (then.package_type !== now.package_type) return severityRank(then.severity) >= severityRank(now.severity)
  // Each engine keeps its own report of an embedded library.
  if (!FORMATS.some((format) => format === now.package_type)) return false
  return others.some((other) => engines.indexOf(other) < engines.indexOf(engine))
}

/** Whether two lists are equal, regardless of the order of their keys. */
export function sameFindings(a: readonly Finding[], b: readonly Finding[]): boolean {
  if (a.length !== b.length) return false
  const texts = new Map(a.map((finding) => [finding.id, canonicalJson(finding)]))
  return b.every((finding) => texts.get(finding.id) === canonicalJson(finding))
}
