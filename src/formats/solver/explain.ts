// Why an item cannot be chosen: a minimal set of constraints, none of which can be left out, in order from the item outwards.
import { createConstraintsBuilder, type Constraints } from './constraints.ts'
import { createSearch, type Cause, type Search } from './search.ts'
import { append } from '../../kernel/append.ts'

/** Causes with more constraints are returned as they were found: each constraint costs a search. */
const MOST_MINIMIZED = 500
const CONFLICTS = 20_000

/** @param item one that the search found impossible */
export function explain(constraints: Constraints, search: Search, item: number): Cause[] {
  const found = outwards(constraints, search.causes(item), item)
  if (found.length > MOST_MINIMIZED) return found
  // Tries to remove the farthest ones first, so that the shortest path from the item remains.
  let kept = found
  for (const one of [...found].reverse()) {
    if (!kept.includes(one)) continue
    const others = refuted(
      constraints,
      kept.filter((other) => other !== one),
      item,
    )
    if (others) kept = kept.filter((other) => others.has(other))
  }
  return outwards(constraints, kept, item)
}

/** @returns those of the causes that exclude the item; null when they do not */
function refuted(constraints: Constraints, causes: readonly Cause[], item: number): Set<Cause> | null {
  const numbers = new Map<number, number>()
  const numberOf = (one: number) => {
    const known = numbers.get(one)
    if (known !== undefined) return known
    numbers.set(one, numbers.size)
    return numbers.size - 1
  }
  const asked = numberOf(item)
  const builder = createConstraintsBuilder()
  const needSets: number[][] = []
  const banSets: number[][] = []
  const needCauses: Cause[] = []
  const banCauses: Cause[] = []
  for (const cause of causes) {
    if (cause.kind === 'need') {
      builder.addNeed(numberOf(cause.owner), needSets.length)
      needSets.push(membersOf(constraints, cause.set).map(numberOf))
      needCauses.push(cause)
    } else {
      builder.addBan(numberOf(cause.owner), banSets.length)
      banSets.push([numberOf(cause.member)])
      banCauses.push(cause)
    }
  }
  const search = createSearch(builder.build(numbers.size, needSets, banSets))
  if (search.solve(asked, CONFLICTS) !== 'impossible') return null
  return new Set(search.causes(asked).map(({ kind, set }) => (kind === 'need' ? needCauses : banCauses)[set]!))
}

/** Breadth first from the item: its own causes come before the causes of the items it needs. */
function outwards(constraints: Constraints, causes: readonly Cause[], item: number): Cause[] {
  const byOwner = new Map<number, Cause[]>()
  for (const cause of causes) {
    append(byOwner, cause.owner, cause)
  }
  const ordered: Cause[] = []
  const reached = new Set([item])
  for (const one of reached) {
    for (const cause of byOwner.get(one) ?? []) {
      ordered.push(cause)
      if (cause.kind === 'need') for (const member of membersOf(constraints, cause.set)) reached.add(member)
    }
  }
  // A package that excludes another one may be reachable only through later causes.
  return ordered.length === causes.length ? ordered : [...ordered, ...causes.filter((one) => !ordered.includes(one))]
}

function membersOf({ needs: { members } }: Constraints, set: number): number[] {
  return [...members.values.subarray(members.starts[set], members.starts[set + 1])]
}
