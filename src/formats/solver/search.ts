// Decides whether an item can be chosen: conflict-driven clause learning that decides only where a chosen item needs a member.
import type { Constraints } from './constraints.ts'
import { createLearned } from './learned.ts'

export type Answer = 'possible' | 'impossible' | 'undecided'

/** Why an item has its value, or part of a conflict. */
export type Cause =
  /** `owner` needs a member of the set, and all others are excluded */
  | { kind: 'need'; owner: number; set: number }
  /** `owner` excludes `member`, which is in the set */
  | { kind: 'ban'; owner: number; set: number; member: number }

export interface Search {
  /** @param mostConflicts the budget: after this many conflicts the answer is `undecided` */
  solve(item: number, mostConflicts: number): Answer
  /** Number of conflicts in the last `solve`. */
  conflicts(): number
  /** After `possible`: the chosen items, the asked one among them. Valid until the next `solve`. */
  chosen(): Int32Array
  /** After `impossible`: constraints that together exclude the item; not necessarily minimal. */
  causes(item: number): Cause[]
}

const TRUE = 1
const FALSE = -1

// Kinds of reasons. A decision has none.
const NONE = 0
const NEED = 1
const BAN = 2
const LEARNED = 3
/** Only in derivations: the permanent value of an item. */
const FIXED = 4

/** With more learned clauses than this, all are dropped between two questions. */
const MOST_LEARNED = 30_000

/**
 * Clauses learned for one item serve all later ones. Memory is linear in the constraints.
 *
 * Constraints have no watch lists but counters for each set (members that are not excluded, chosen members, chosen owners),
 * because thousands of packages share one set such as `libc6 (>= 2.14)`.
 */
export function createSearch({ items, needs, bans }: Constraints): Search {
  const value = new Int8Array(items)
  const level = new Int32Array(items)
  const reasonKind = new Uint8Array(items)
  const reasonOwner = new Int32Array(items)
  const reasonSet = new Int32Array(items)
  const reasonMember = new Int32Array(items)
  const trail = new Int32Array(items)
  let trailLength = 0
  let propagated = 0
  /** position on the trail where the search for unmet needs continues */
  let scanned = 0
  const levelStarts: number[] = []
  const levelScans: number[] = []

  const needSets = needs.members.starts.length - 1
  const open = new Int32Array(needSets)
  const met = new Int32Array(needSets)
  const wanted = new Int32Array(needSets)
  /** the first chosen owner, while there is one */
  const wantedBy = new Int32Array(needSets)
  for (let set = 0; set < needSets; set++) open[set] = needs.members.starts[set + 1]! - needs.members.starts[set]!

  const learned = createLearned()
  let conflicts = 0
  const conflict = { kind: NONE, owner: 0, set: 0, member: 0 }
  const seen = new Uint8Array(items)

  function assign(item: number, to: 1 | -1, kind: number, owner: number, set: number, member: number): void {
    value[item] = to
    level[item] = levelStarts.length
    reasonKind[item] = kind
    reasonOwner[item] = owner
    reasonSet[item] = set
    reasonMember[item] = member
    trail[trailLength++] = item
    const { starts, values } = needs.memberOf
    if (to === FALSE) {
      for (let i = starts[item]!, end = starts[item + 1]!; i < end; i++) open[values[i]!]!--
      return
    }
    for (let i = starts[item]!, end = starts[item + 1]!; i < end; i++) met[values[i]!]!++
    for (let i = needs.sets.starts[item]!, end = needs.sets.starts[item + 1]!; i < end; i++) {
      const needed = needs.sets.values[i]!
      if (wanted[needed]!++ === 0) wantedBy[needed] = item
    }
  }

  function backTo(target: number): void {
    if (levelStarts.length <= target) return
    const { starts, values } = needs.memberOf
    const start = levelStarts[target]!
    while (trailLength > start) {
      const item = trail[--trailLength]!
      const was = value[item]
      value[item] = 0
      const counts = was === FALSE ? open : met
      const by = was === FALSE ? 1 : -1
      for (let i = starts[item]!, end = starts[item + 1]!; i < end; i++) counts[values[i]!]! += by
      if (was === TRUE)
        for (let i = needs.sets.starts[item]!, end = needs.sets.starts[item + 1]!; i < end; i++)
          wanted[needs.sets.values[i]!]!--
    }
    propagated = trailLength
    scanned = levelScans[target]!
    levelStarts.length = target
    levelScans.length = target
  }

  function decide(item: number): void {
    levelStarts.push(trailLength)
    levelScans.push(scanned)
    assign(item, TRUE, NONE, 0, 0, 0)
  }

  function conflictIs(kind: number, owner: number, set: number, member: number): false {
    conflict.kind = kind
    conflict.owner = owner
    conflict.set = set
    conflict.member = member
    return false
  }

  /** @returns false at a conflict, which is then in `conflict` */
  function propagate(): boolean {
    while (propagated < trailLength) {
      const item = trail[propagated++]!
      if (value[item] === TRUE) {
        if (!propagateBans(item) || !propagateNeeds(item)) return false
      } else if (!propagateExclusion(item)) return false
      if (!propagateLearned(item)) return false
    }
    return true
  }

  function exclude(item: number, owner: number, set: number, member: number): boolean {
    if (value[item] === TRUE) return conflictIs(BAN, owner, set, member)
    if (value[item] === 0) assign(item, FALSE, BAN, owner, set, member)
    return true
  }

  function propagateBans(item: number): boolean {
    for (let i = bans.sets.starts[item]!, end = bans.sets.starts[item + 1]!; i < end; i++) {
      const set = bans.sets.values[i]!
      for (let j = bans.members.starts[set]!, last = bans.members.starts[set + 1]!; j < last; j++) {
        const member = bans.members.values[j]!
        if (member !== item && !exclude(member, item, set, member)) return false
      }
    }
    for (let i = bans.memberOf.starts[item]!, end = bans.memberOf.starts[item + 1]!; i < end; i++) {
      const set = bans.memberOf.values[i]!
      for (let j = bans.owners.starts[set]!, last = bans.owners.starts[set + 1]!; j < last; j++) {
        const owner = bans.owners.values[j]!
        if (owner !== item && !exclude(owner, owner, set, item)) return false
      }
    }
    return true
  }

  /** The sets that a chosen item needs. */
  function propagateNeeds(item: number): boolean {
    for (let i = needs.sets.starts[item]!, end = needs.sets.starts[item + 1]!; i < end; i++) {
      const set = needs.sets.values[i]!
      if (met[set] === 0 && open[set]! <= 1 && !chooseLast(set, item)) return false
    }
    return true
  }

  /** The sets that an excluded item is a member of. */
  function propagateExclusion(item: number): boolean {
    for (let i = needs.memberOf.starts[item]!, end = needs.memberOf.starts[item + 1]!; i < end; i++) {
      const set = needs.memberOf.values[i]!
      if (open[set]! > 1 || met[set] !== 0) continue
      if (wanted[set]! > 0 && !chooseLast(set, wantedBy[set]!)) return false
      if (open[set] === 0)
        for (let j = needs.owners.starts[set]!, last = needs.owners.starts[set + 1]!; j < last; j++) {
          const owner = needs.owners.values[j]!
          if (value[owner] === 0) assign(owner, FALSE, NEED, owner, set, 0)
        }
    }
    return true
  }

  /** Chooses the last remaining member. */
  function chooseLast(set: number, owner: number): boolean {
    if (open[set] === 0) return conflictIs(NEED, owner, set, 0)
    for (let j = needs.members.starts[set]!, last = needs.members.starts[set + 1]!; j < last; j++) {
      const member = needs.members.values[j]!
      if (value[member] !== 0) continue
      assign(member, TRUE, NEED, owner, set, 0)
      break
    }
    return true
  }

  function propagateLearned(item: number): boolean {
    const failed = learned.propagate(item, value, (unit, isTrue, clause) =>
      assign(unit, isTrue ? TRUE : FALSE, LEARNED, clause, 0, 0),
    )
    return failed === -1 || conflictIs(LEARNED, failed, 0, 0)
  }

  /** Calls `visit` for the items of a clause, including the item that the clause is the reason of. */
  function eachOf(kind: number, owner: number, set: number, member: number, visit: (item: number) => void): void {
    if (kind === LEARNED) {
      learned.each(owner, visit)
      return
    }
    visit(owner)
    if (kind === BAN) visit(member)
    else
      for (let j = needs.members.starts[set]!, last = needs.members.starts[set + 1]!; j < last; j++)
        visit(needs.members.values[j]!)
  }

  /**
   * Learns the clause of the first unique implication point, backtracks and asserts it.
   * https://www.cs.princeton.edu/~zkincaid/courses/fall18/readings/SATHandbook-CDCL.pdf, section 4.4
   */
  function learn(): void {
    const current = levelStarts.length
    const others: number[] = []
    const derivation: number[] = []
    const marked: number[] = []
    let pending = 0
    const mark = (item: number) => {
      if (seen[item]) return
      seen[item] = 1
      marked.push(item)
      if (level[item] === 0) derivation.push(FIXED, item, 0, 0)
      else if (level[item] === current) pending++
      else others.push(item)
    }
    derivation.push(conflict.kind, conflict.owner, conflict.set, conflict.member)
    eachOf(conflict.kind, conflict.owner, conflict.set, conflict.member, mark)
    let at = trailLength
    let item
    for (;;) {
      do item = trail[--at]!
      while (!seen[item] || level[item] !== current)
      if (--pending === 0) break
      const [kind, owner, set, member] = [reasonKind[item]!, reasonOwner[item]!, reasonSet[item]!, reasonMember[item]!]
      derivation.push(kind, owner, set, member)
      eachOf(kind, owner, set, member, mark)
    }
    for (const one of marked) seen[one] = 0
    const isTrue = value[item] === FALSE
    const literals = [item, ...others].map((one) => 2 * one + (value[one] === TRUE ? 1 : 0))
    // The second watched literal must be of the level that the search returns to.
    let back = 0
    for (let i = 1; i < literals.length; i++) {
      const itsLevel = level[literals[i]! >> 1]!
      if (itsLevel <= back) continue
      back = itsLevel
      ;[literals[1], literals[i]] = [literals[i]!, literals[1]!]
    }
    const clause = learned.add(literals, derivation)
    backTo(back)
    assign(item, isTrue ? TRUE : FALSE, LEARNED, clause, 0, 0)
  }

  /** The first set that a chosen item needs and that has no chosen member; -1 without one. */
  function unmetNeed(): number {
    for (; scanned < trailLength; scanned++) {
      const item = trail[scanned]!
      if (value[item] !== TRUE) continue
      for (let i = needs.sets.starts[item]!, end = needs.sets.starts[item + 1]!; i < end; i++) {
        const set = needs.sets.values[i]!
        if (met[set] === 0) return set
      }
    }
    return -1
  }

  function solve(item: number, mostConflicts: number): Answer {
    backTo(0)
    if (learned.count() > MOST_LEARNED) learned.forget()
    conflicts = 0
    for (;;) {
      if (!propagate()) {
        if (++conflicts > mostConflicts) return 'undecided'
        learn()
        continue
      }
      if (levelStarts.length === 0) {
        if (value[item] === FALSE) return 'impossible'
        decide(item)
        continue
      }
      const set = unmetNeed()
      if (set === -1) return 'possible'
      for (let j = needs.members.starts[set]!; ; j++) {
        const member = needs.members.values[j]!
        if (value[member] !== 0) continue
        decide(member)
        break
      }
    }
  }

  /** Follows the derivations down to the constraints. */
  function causes(item: number): Cause[] {
    const found = new Map<string, Cause>()
    const doneItems = new Set<number>()
    const doneClauses = new Set<number>()
    const todo: [kind: number, owner: number, set: number, member: number][] = [[FIXED, item, 0, 0]]
    for (let one = todo.pop(); one; one = todo.pop()) {
      const [kind, owner, set, member] = one
      if (kind === FIXED) {
        if (doneItems.has(owner)) continue
        doneItems.add(owner)
        const reason = reasonKind[owner]!
        todo.push([reason, reasonOwner[owner]!, reasonSet[owner]!, reasonMember[owner]!])
        if (reason !== LEARNED)
          eachOf(reason, reasonOwner[owner]!, reasonSet[owner]!, reasonMember[owner]!, (other) => {
            if (other !== owner) todo.push([FIXED, other, 0, 0])
          })
      } else if (kind === LEARNED) {
        if (doneClauses.has(owner)) continue
        doneClauses.add(owner)
        // The other literals of a clause that fixed an item are themselves fixed.
        learned.each(owner, (other) => {
          if (level[other] === 0 && value[other] !== 0) todo.push([FIXED, other, 0, 0])
        })
        const derivation = learned.derivation(owner)
        for (let i = 0; i < derivation.length; i += 4)
          todo.push([derivation[i]!, derivation[i + 1]!, derivation[i + 2]!, derivation[i + 3]!])
      } else if (kind === NEED) found.set(`${owner} ${set}`, { kind: 'need', owner, set })
      else if (kind === BAN) found.set(`${owner} ${set} ${member}`, { kind: 'ban', owner, set, member })
    }
    return [...found.values()]
  }

  return {
    solve,
    causes,
    conflicts: () => conflicts,
    chosen: () => trail.slice(levelStarts[0] ?? trailLength, trailLength).filter((item) => value[item] === TRUE),
  }
}
