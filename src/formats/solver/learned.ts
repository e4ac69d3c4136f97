// Learned clauses with two watched literals each, and their derivations.
import { append } from '../../kernel/append.ts'

/** A literal is twice the item, plus 1 if it is negated. */
export interface Learned {
  /**
   * @param literals the watched ones first
   * @param derivation groups of four integers, which `derivation` returns
   */
  add(literals: readonly number[], derivation: readonly number[]): number
  /**
   * To be called after an item got its value.
   * @param assign called for the last literal of a clause that can still be true
   * @returns a clause whose literals are all false; -1 without one
   */
  propagate(item: number, value: Int8Array, assign: (item: number, isTrue: boolean, clause: number) => void): number
  each(clause: number, visit: (item: number) => void): void
  derivation(clause: number): Int32Array
  /** number of clauses in the search */
  count(): number
  /** Takes all clauses out of the search. Their derivations stay. */
  forget(): void
}

export function createLearned(): Learned {
  const clauses: Int32Array[] = []
  const derivations: Int32Array[] = []
  /** literal -> clauses that watch it */
  let watches = new Map<number, number[]>()
  let active = 0

  function watch(literal: number, clause: number): void {
    append(watches, literal, clause)
  }

  const holds = (literal: number, value: Int8Array) => value[literal >> 1] === ((literal & 1) === 0 ? 1 : -1)
  const fails = (literal: number, value: Int8Array) => value[literal >> 1] === ((literal & 1) === 0 ? -1 : 1)

  return {
    add(literals, derivation) {
      const clause = clauses.length
      clauses.push(Int32Array.from(literals))
      derivations.push(Int32Array.from(derivation))
      if (literals.length > 1) {
        watch(literals[0]!, clause)
        watch(literals[1]!, clause)
        active++
      }
      return clause
    },
    propagate(item, value, assign) {
      const failed = 2 * item + (value[item] === 1 ? 1 : 0)
      const list = watches.get(failed)
      if (!list) return -1
      let kept = 0
      let broken = -1
      for (let i = 0; i < list.length; i++) {
        const clause = list[i]!
        const literals = clauses[clause]!
        if (broken !== -1) {
          list[kept++] = clause
          continue
        }
        if (literals[0] === failed) {
          literals[0] = literals[1]!
          literals[1] = failed
        }
        const first = literals[0]!
        if (!holds(first, value)) {
          let at = 2
          while (at < literals.length && fails(literals[at]!, value)) at++
          if (at < literals.length) {
            literals[1] = literals[at]!
            literals[at] = failed
            watch(literals[1], clause)
            continue
          }
          if (fails(first, value)) broken = clause
          else assign(first >> 1, (first & 1) === 0, clause)
        }
        list[kept++] = clause
      }
      list.length = kept
      return broken
    },
    each(clause, visit) {
      for (const literal of clauses[clause]!) visit(literal >> 1)
    },
    derivation: (clause) => derivations[clause]!,
    count: () => active,
    forget() {
      watches = new Map()
      active = 0
    },
  }
}
