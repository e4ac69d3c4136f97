// The search against brute force on small random problems, and its minimal causes.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BUDGET, checkItems } from './check.ts'
import { createConstraintsBuilder, type Constraints } from './constraints.ts'
import { explain } from './explain.ts'
import type { Cause } from './search.ts'

/** Items with lists of the sets that they need, and lists of the items that they exclude. */
type Problem = { needs: number[][][]; bans: number[][] }

function build({ needs, bans }: Problem): Constraints {
  const builder = createConstraintsBuilder()
  const needSets: number[][] = []
  const banSets: number[][] = []
  needs.forEach((sets, item) => {
    for (const set of sets) builder.addNeed(item, needSets.push(set) - 1)
  })
  bans.forEach((set, item) => {
    if (set.length > 0) builder.addBan(item, banSets.push(set) - 1)
  })
  return builder.build(needs.length, needSets, banSets)
}

/** Whether some selection with the item keeps all constraints. */
function bruteForce({ needs, bans }: Problem, item: number): boolean {
  for (let chosen = 0; chosen < 2 ** needs.length; chosen++) {
    const has = (one: number) => (chosen & (1 << one)) !== 0
    if (!has(item)) continue
    const isSound = needs.every(
      (sets, one) =>
        !has(one) || (sets.every((set) => set.some(has)) && !bans[one]!.some((two) => two !== one && has(two))),
    )
    if (isSound) return true
  }
  return false
}

const problems = fc.integer({ min: 1, max: 9 }).chain((items) => {
  const item = fc.integer({ min: 0, max: items - 1 })
  return fc.record({
    needs: fc.array(fc.array(fc.uniqueArray(item, { maxLength: 3 }), { maxLength: 3 }), {
      minLength: items,
      maxLength: items,
    }),
    bans: fc.array(fc.uniqueArray(item, { maxLength: 2 }), { minLength: items, maxLength: items }),
  })
})

const all = (constraints: Constraints) => Array.from({ length: constraints.items }, (_, item) => item)

/** What a cause leaves of the problem. */
function reduced(constraints: Constraints, causes: readonly Cause[]): Problem {
  const needs: number[][][] = all(constraints).map(() => [])
  const bans: number[][] = all(constraints).map(() => [])
  const { starts, values } = constraints.needs.members
  for (const cause of causes) {
    if (cause.kind === 'need') needs[cause.owner]!.push([...values.subarray(starts[cause.set], starts[cause.set + 1])])
    else bans[cause.owner]!.push(cause.member)
  }
  return { needs, bans }
}

describe('the search', () => {
  test('agrees with brute force, and its causes are sufficient and minimal', () => {
    fc.assert(
      fc.property(problems, (problem) => {
        const constraints = build(problem)
        const { answerOf, search } = checkItems(constraints, all(constraints))
        for (const item of all(constraints)) {
          const isPossible = bruteForce(problem, item)
          expect(answerOf(item)).toBe(isPossible ? 'possible' : 'impossible')
          if (isPossible) continue
          const causes = explain(constraints, search, item)
          expect(bruteForce(reduced(constraints, causes), item)).toBe(false)
          for (const one of causes) {
            const others = causes.filter((other) => other !== one)
            expect(bruteForce(reduced(constraints, others), item)).toBe(true)
          }
        }
      }),
      { numRuns: 1500, seed: 7 },
    )
  })

  test.each<[string, Problem, number, string[]]>([
    ['nothing provides what it needs', { needs: [[[]]], bans: [[]] }, 0, ['0 needs []']],
    [
      'what it needs cannot be chosen',
      { needs: [[[1]], [[2], []], []], bans: [[], [], []] },
      0,
      ['0 needs [1]', '1 needs []'],
    ],
    [
      'two needs exclude each other',
      { needs: [[[1], [2]], [], [], []], bans: [[], [2], [], []] },
      0,
      ['0 needs [1]', '0 needs [2]', '1 excludes 2'],
    ],
    [
      'both alternatives fail',
      { needs: [[[1, 2]], [[]], [[3]], []], bans: [[], [], [], [0]] },
      0,
      ['0 needs [1,2]', '1 needs []', '2 needs [3]', '3 excludes 0'],
    ],
  ])('explains that %s', (_, problem, item, expected) => {
    const constraints = build(problem)
    const { answerOf, search } = checkItems(constraints, all(constraints))
    expect(answerOf(item)).toBe('impossible')
    const { starts, values } = constraints.needs.members
    const shown = explain(constraints, search, item).map((cause) =>
      cause.kind === 'need'
        ? `${cause.owner} needs [${values.subarray(starts[cause.set], starts[cause.set + 1]).join()}]`
        : `${cause.owner} excludes ${cause.member}`,
    )
    expect(shown).toEqual(expected)
  })

  test('is undecided beyond its budget, and only then', () => {
    // Pigeons in one hole too few: hard for every search that learns clauses by resolution.
    const pigeons = 9
    const holes = pigeons - 1
    const place = (pigeon: number, hole: number) => 1 + pigeon * holes + hole
    const range = (count: number) => Array.from({ length: count }, (_, at) => at)
    const problem: Problem = {
      needs: [
        range(pigeons).map((pigeon) => range(holes).map((hole) => place(pigeon, hole))),
        ...range(pigeons * holes).map(() => []),
      ],
      bans: [[], ...range(pigeons * holes).map((at) => range(pigeons).map((pigeon) => place(pigeon, at % holes)))],
    }
    const constraints = build(problem)
    expect(checkItems(constraints, [0], { ...BUDGET, conflicts: 50 }).answerOf(0)).toBe('undecided')
    expect(checkItems(constraints, [0, 1], { conflicts: 1000, totalConflicts: 0 }).answerOf(1)).toBe('undecided')
    expect(checkItems(constraints, [1]).answerOf(1)).toBe('possible')
  })
})
