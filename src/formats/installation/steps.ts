// A minimal cause in words: which package needs or excludes what.
import type { HeldPackage, PackageIdentity, Step } from '../../domain/installability.ts'
import type { Relation } from '../../domain/package.ts'
import type { Cause } from '../solver/search.ts'

/** What packages exclude: a relation of a kind that excludes, or `same_name`. */
export interface Exclusion {
  kind: string
  text: string
  relation: Relation
  whole: string | null
  byName: boolean
}

export interface StepSource {
  /** null for an item that represents part of a boolean dependency */
  identityOf(item: number): PackageIdentity | null
  conditionOf(item: number): string
  /** @returns `held`: packages that meet the need but are not offered */
  need(cause: Cause & { kind: 'need' }): {
    text: string
    candidates: readonly number[]
    others: readonly number[]
    held: readonly HeldPackage[]
  }
  exclusion(cause: Cause & { kind: 'ban' }): Exclusion | null
}

const MOST_CANDIDATES = 10
const MOST_OTHERS = 5
const HELD_WORDS: Record<HeldPackage['status'], string> = {
  pending_review: 'held for review',
  quarantined: 'quarantined',
}

const shown = ({ name, version }: PackageIdentity) => `${name} ${version}`
const listed = (list: readonly PackageIdentity[], total: number) =>
  list.map(shown).join(', ') + (total > list.length ? ` and ${total - list.length} more` : '')

export function describeSteps(causes: readonly Cause[], from: StepSource): Step[] {
  const known = (items: readonly number[]) => items.flatMap((item) => from.identityOf(item) ?? [])
  return causes.map((cause): Step => {
    const owner = from.identityOf(cause.owner)
    const subject = owner ? shown(owner) : from.conditionOf(cause.owner)
    if (cause.kind === 'need') {
      const { text, candidates, others, held: allHeld } = from.need(cause)
      const held = candidates.length > 0 ? [] : allHeld.slice(0, MOST_OTHERS)
      const listedCandidates = known(candidates).slice(0, MOST_CANDIDATES)
      const listedOthers = candidates.length > 0 ? [] : known(others).slice(0, MOST_OTHERS)
      const ending =
        candidates.length > 0
          ? listedCandidates.length > 0
            ? `: ${listed(listedCandidates, known(candidates).length)}`
            : ''
          : held.length > 0
            ? `; ${held.map((one) => `${shown(one)} is here, ${HELD_WORDS[one.status]}`).join(', ')}`
            : listedOthers.length > 0
              ? `; only ${listed(listedOthers, new Set(others).size)} ${others.length > 1 ? 'exist' : 'exists'}`
              : '; nothing provides it'
      return {
        kind: 'needs',
        package: owner,
        relation: text,
        candidates: listedCandidates,
        candidates_total: candidates.length,
        others: listedOthers,
        ...(held.length > 0 ? { held } : {}),
        excluded: null,
        sentence: `${subject} needs ${text}${ending}`,
      }
    }
    const exclusion = from.exclusion(cause)
    const excluded = from.identityOf(cause.member)
    const other = excluded ? shown(excluded) : from.conditionOf(cause.member)
    const isSameName = exclusion?.kind === 'same_name'
    return {
      kind: isSameName ? 'same_name' : 'excludes',
      package: owner,
      relation: exclusion?.text ?? from.conditionOf(cause.owner),
      candidates: [],
      candidates_total: 0,
      others: [],
      excluded,
      sentence: isSameName
        ? `${subject} and ${other} cannot be installed together: both are ${exclusion.text}`
        : `${subject} excludes ${other}${exclusion ? ` (${exclusion.kind} ${exclusion.text})` : ''}`,
    }
  })
}
