// The input of a search: items that need one of a set of items, and items that exclude sets of items. Integers only.

/** Lists of integers by index, one after another: the list of `i` is `values[starts[i]]` up to `values[starts[i + 1]]`. */
export interface Lists {
  starts: Int32Array
  values: Int32Array
}

/** One kind of constraint: owners refer to sets, sets have members. All owners with an equal set share it. */
export interface Rules {
  /** item -> its sets, in the order of preference */
  sets: Lists
  /** set -> items that state it */
  owners: Lists
  /** set -> items in it, in the order of preference */
  members: Lists
  /** item -> sets that it is a member of */
  memberOf: Lists
}

/**
 * Choosing no item at all satisfies every constraint, so the question is always whether a given item can be chosen.
 * An item is a package, or an auxiliary that represents part of a boolean dependency.
 */
export interface Constraints {
  items: number
  /** a chosen item needs one member of each of these sets; the item itself counts */
  needs: Rules
  /** a chosen item excludes all other members of these sets */
  bans: Rules
}

/** Collects constraints. Lists are copied into typed arrays by `build`. */
export interface ConstraintsBuilder {
  addNeed(item: number, set: number): void
  addBan(item: number, set: number): void
  build(items: number, needSets: readonly ArrayLike<number>[], banSets: readonly ArrayLike<number>[]): Constraints
}

export function createConstraintsBuilder(): ConstraintsBuilder {
  const needs = createPairs()
  const bans = createPairs()
  return {
    addNeed: needs.add,
    addBan: bans.add,
    build: (items, needSets, banSets) => ({
      items,
      needs: rulesOf(items, needs, needSets),
      bans: rulesOf(items, bans, banSets),
    }),
  }
}

interface Pairs {
  add(item: number, set: number): void
  count(): number
  item(at: number): number
  set(at: number): number
}

function createPairs(): Pairs {
  const values: number[] = []
  return {
    add: (item, set) => void values.push(item, set),
    count: () => values.length / 2,
    item: (at) => values[2 * at]!,
    set: (at) => values[2 * at + 1]!,
  }
}

function rulesOf(items: number, pairs: Pairs, sets: readonly ArrayLike<number>[]): Rules {
  const total = sets.reduce((sum, set) => sum + set.length, 0)
  const members: Lists = { starts: new Int32Array(sets.length + 1), values: new Int32Array(total) }
  let at = 0
  sets.forEach((set, index) => {
    for (let i = 0; i < set.length; i++) members.values[at++] = set[i]!
    members.starts[index + 1] = at
  })
  const setOf = new Int32Array(total)
  for (let set = 0; set < sets.length; set++) setOf.fill(set, members.starts[set], members.starts[set + 1])
  const count = pairs.count()
  return {
    members,
    memberOf: group(
      items,
      total,
      (i) => members.values[i]!,
      (i) => setOf[i]!,
    ),
    sets: group(items, count, pairs.item, pairs.set),
    owners: group(sets.length, count, pairs.set, pairs.item),
  }
}

/** Sorts pairs by key, stable. */
function group(keys: number, count: number, keyOf: (at: number) => number, valueOf: (at: number) => number): Lists {
  const starts = new Int32Array(keys + 1)
  for (let i = 0; i < count; i++) starts[keyOf(i) + 1]!++
  for (let key = 0; key < keys; key++) starts[key + 1]! += starts[key]!
  const values = new Int32Array(count)
  const next = starts.slice(0, keys)
  for (let i = 0; i < count; i++) values[next[keyOf(i)]!++] = valueOf(i)
  return { starts, values }
}
