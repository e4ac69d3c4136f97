// Audit entries in words: what was decided, not only that somebody decided.
import { sentence, type Tone } from './words.ts'

interface Entry {
  action: string
  result: string
  outcome: string | null
}

const DECISIONS: Record<string, { text: string; tone: Tone }> = {
  accept_risk: { text: 'Approved: risk accepted', tone: 'good' },
  exception: { text: 'Approved: exception', tone: 'good' },
  upgrade_required: { text: 'Upgrade required', tone: 'care' },
  reject: { text: 'Rejected', tone: 'bad' },
  assigned: { text: 'Review assigned', tone: 'good' },
}

/** @returns "Approved: risk accepted", "Login", "CVE rematch" */
export function eventWords({ action, result, outcome }: Entry): { text: string; tone: Tone } {
  const decided = action === 'SECURITY_DECISION' && result === 'SUCCESS' ? DECISIONS[outcome ?? ''] : undefined
  if (decided) return decided
  const tone = result === 'SUCCESS' ? 'good' : result === 'WARNING' ? 'care' : 'bad'
  return { text: sentence(action), tone }
}
