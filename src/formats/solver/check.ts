// Answers for many items: one search serves all, and each installation it finds answers for all items in it.
import type { Constraints } from './constraints.ts'
import { createSearch, type Answer, type Search } from './search.ts'

export interface Budget {
  /** for one item */
  conflicts: number
  /** for all items; the remaining items are then undecided */
  totalConflicts: number
}

/** Real packages need fewer than 100; only constructed ones come close. */
export const BUDGET: Budget = { conflicts: 20_000, totalConflicts: 2_000_000 }

export interface Checked {
  answerOf(item: number): Answer
  /** the search, which knows the causes */
  search: Search
}

/**
 * Decides each of the items.
 * @param asked in the caller's order; only these have answers
 */
export function checkItems(constraints: Constraints, asked: readonly number[], budget: Budget = BUDGET): Checked {
  const search = createSearch(constraints)
  const answers = new Map<number, Answer>()
  const possible = new Uint8Array(constraints.items)
  let left = budget.totalConflicts
  const { starts } = constraints.needs.memberOf
  const isNeeded = (item: number) => starts[item]! < starts[item + 1]!
  // Items that nothing needs come first: their installations contain most of the others.
  for (const item of [...asked.filter((one) => !isNeeded(one)), ...asked.filter(isNeeded)]) {
    if (possible[item]) {
      answers.set(item, 'possible')
      continue
    }
    const answer = left > 0 ? search.solve(item, Math.min(budget.conflicts, left)) : 'undecided'
    left -= search.conflicts()
    answers.set(item, answer)
    if (answer === 'possible') for (const one of search.chosen()) possible[one] = 1
  }
  return { search, answerOf: (item) => answers.get(item) ?? 'undecided' }
}
