// The verdict about a held record in one sentence: what holds it, how bad that is, where the fix is, who has it. Pure.
import { count, HELD_REASONS } from '../../parts/words.ts'
import type { Evidence, QueueItem } from './item.ts'

type Judged = Pick<Evidence, 'findings' | 'findings_total' | 'holding_total' | 'held' | 'served'>
type Downloads = Pick<QueueItem['blast_radius'], 'clients'>

/** @returns "3 of 10 findings hold it, 1 known exploited, fixed by 1.21.1-10 (not here), no client has it." */
export function verdictOf(evidence: Judged, downloads: Downloads | null): string {
  const holding = evidence.findings.filter((finding) => finding.holding)
  const exploited = holding.filter((finding) => finding.in_kev).length
  const parts = [
    holds(evidence),
    ...(exploited > 0 ? [`${exploited} known exploited`] : []),
    ...(holding.length > 0 ? [fixes(holding)] : []),
    clients(evidence.served, downloads),
  ]
  const text = parts.join(', ')
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}

function holds({ holding_total: holding, findings_total: total, held }: Judged): string {
  if (holding > 0) return `${holding} of ${count(total, 'finding')} ${holding === 1 ? 'holds' : 'hold'} it`
  const why = held?.reason ? HELD_REASONS[held.reason] : undefined
  return why === undefined ? `none of its ${count(total, 'finding')} holds it` : `held because ${why}`
}

/** Versions that are named before "and n more". */
const MOST_VERSIONS = 2

function fixes(holding: Evidence['findings']): string {
  const fixed = holding.filter(({ fix_versions: versions }) => versions.length > 0)
  if (fixed.length === 0) return 'no fix is known'
  const versions = [...new Set(fixed.map(({ fix_versions }) => fix_versions[0] as string))]
  const more = versions.length > MOST_VERSIONS ? ` and ${versions.length - MOST_VERSIONS} more` : ''
  const by = `fixed by ${versions.slice(0, MOST_VERSIONS).join(', ')}${more} (${place(fixed)})`
  const open = holding.length - fixed.length
  return open === 0 ? by : `${fixed.length} ${by}, ${open} without a fix`
}

function place(fixed: Evidence['findings']): string {
  const here = new Set(fixed.map(({ fixed_here: version }) => version))
  const [version] = here
  if (here.size === 1 && version) return `here: ${version}`
  if (fixed.some(({ fixed_here }) => fixed_here)) return 'some here'
  const waiting = fixed.find(({ fixed_waiting: version }) => version)?.fixed_waiting
  if (waiting) return `waits for review here: ${waiting}`
  const sources = new Set(fixed.flatMap(({ fix_available: fix }) => fix?.source ?? []))
  const [source] = sources
  return source === undefined ? 'not here' : `not here: ${source} has it`
}

function clients(served: boolean, downloads: Downloads | null): string {
  if (served) return 'clients get it now'
  if (downloads === null) return 'no client gets it'
  return downloads.clients === 0 ? 'no client has it' : `${count(downloads.clients, 'client has', 'clients have')} it`
}
