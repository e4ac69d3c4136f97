// The one thing on the Overview that needs attention first, and what to do about it.
import type { Access } from '../../../../src/domain/roles.ts'
import type { Answered } from '../../api/api.ts'
import type { Tone } from '../../parts/words.ts'

type Stats = Pick<Answered<'GET /dashboard/stats'>, 'packages' | 'antivirus' | 'security_review'>

export interface Headline {
  tone: Tone
  /** null when there is nothing to count */
  figure: number | null
  text: string
  /** the next step, and the page where it is taken */
  step: string
  to: '/review' | '/decisions' | '/health' | '/upload' | '/packages'
}

interface Candidate extends Headline {
  applies: boolean
  access: Access
}

/** @param may whether this person may open a page of that access: nobody is told to do what is refused to them */
export function headlineOf(
  { packages, antivirus, security_review: review }: Stats,
  may: (access: Access) => boolean,
): Headline {
  const { overdue, pending_review: waiting, expiring_soon_total: ending } = review
  const candidates: Candidate[] = [
    {
      applies: overdue > 0,
      access: 'auditor+',
      tone: 'bad',
      figure: overdue,
      text: overdue === 1 ? 'review is overdue' : 'reviews are overdue',
      step: 'Start with the oldest',
      to: '/review',
    },
    {
      applies: !antivirus.available,
      access: 'auditor+',
      tone: 'bad',
      figure: null,
      text: 'Uploads are not scanned for malware',
      step: 'See what is wrong',
      to: '/health',
    },
    {
      applies: waiting > 0,
      access: 'auditor+',
      tone: 'care',
      figure: waiting,
      text: waiting === 1 ? 'package waits for a decision' : 'packages wait for a decision',
      step: 'Start reviewing',
      to: '/review',
    },
    {
      applies: ending > 0,
      access: 'auditor+',
      tone: 'care',
      figure: ending,
      text: `${ending === 1 ? 'exception expires' : 'exceptions expire'} within seven days`,
      step: 'Extend or withdraw',
      to: '/decisions',
    },
    {
      applies: packages.total === 0,
      access: 'uploader+',
      tone: 'unknown',
      figure: null,
      text: 'There are no packages yet',
      step: 'Upload the first',
      to: '/upload',
    },
  ]
  const first = candidates.find(({ applies, access }) => applies && may(access))
  if (first) {
    const { tone, figure, text, step, to } = first
    return { tone, figure, text, step, to }
  }
  const missing = packages.deps_missing_count
  if (missing > 0)
    return {
      tone: 'care',
      figure: missing,
      text: `${missing === 1 ? 'package' : 'packages'} with missing dependencies`,
      step: 'See the packages',
      to: '/packages',
    }
  return { tone: 'good', figure: null, text: 'Nothing needs you now', step: 'See the packages', to: '/packages' }
}
