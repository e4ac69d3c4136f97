// Describes what happened to a package while somebody wrote a decision about it. Pure.
import { distance } from '../../parts/when.tsx'
import { ACTIONS, STATUSES } from '../../parts/words.ts'
import type { Action, Evidence } from './item.ts'

type Told = Pick<Evidence, 'package' | 'version' | 'distribution' | 'arch' | 'status' | 'served' | 'decisions'>

/** The last decision in force about this record; the list also has decisions about other records with the same findings. */
export function decisionInForce(evidence: Told): Told['decisions'][number] | undefined {
  return evidence.decisions.find(
    (one) =>
      one.active &&
      one.package === evidence.package &&
      one.version === evidence.version &&
      one.distribution === evidence.distribution &&
      one.arch === evidence.arch,
  )
}

/** @returns "Approved by ann, 3 seconds ago: “not reachable”. Clients get it now." */
export function meanwhile(evidence: Told, now: number): string {
  const decision = decisionInForce(evidence)
  const clients = evidence.served ? 'Clients get it now.' : 'No client gets it.'
  if (!decision) return `It is ${STATUSES[evidence.status].word} now. ${clients}`
  const { action, decided_by: who, decided_at: at, justification: why } = decision
  return `${DONE[action] ?? action} by ${who}, ${ago(at, now)}: “${why}”. ${clients}`
}

const DONE: Partial<Record<Action, string>> = {
  accept_risk: 'Approved',
  exception: 'Approved for a time',
  reject: 'Rejected',
  upgrade_required: ACTIONS.upgrade_required,
}

function ago(at: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000))
  return seconds < 60 ? `${seconds} s ago` : distance(at, now)
}
