// Repositories of random packages, in the terms of each format: alternatives, versions, conflicts, provides.

export interface RandomRelation {
  name: string
  op?: '<' | '<=' | '=' | '>=' | '>'
  version?: string
}

export interface RandomPackage {
  name: string
  version: string
  /** one of each list is needed */
  needs: RandomRelation[][]
  excludes: RandomRelation[]
  provides: { name: string; version?: string }[]
}

/** https://en.wikipedia.org/wiki/Linear_congruential_generator, as in Numerical Recipes */
function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const OPERATORS = ['<', '<=', '=', '>=', '>'] as const

/**
 * Names usually refer to nearby names, so that chains are long and cross each other. About a third cannot be installed.
 * @param names number of names; each has one to three versions
 */
export function generate(seed: number, names: number): RandomPackage[] {
  const random = seeded(seed)
  const chance = (percent: number) => random(100) < percent
  const version = () => String(1 + random(3))
  const nearby = (from: number) => {
    if (chance(15)) return `v${(from + random(40)) % Math.ceil(names / 8)}`
    // One name in 200 does not exist.
    return chance(1) && chance(50) ? `absent${from}` : `p${(from + 1 + random(60)) % names}`
  }
  const relation = (from: number, bounded: number): RandomRelation => {
    const name = nearby(from)
    return chance(bounded) ? { name, op: OPERATORS[random(5)]!, version: version() } : { name }
  }
  const some = <T>(most: number, make: () => T): T[] => Array.from({ length: random(most + 1) }, make)
  return Array.from({ length: names }, (_, from) => {
    const versions = new Set([version(), ...(chance(30) ? [version(), version()] : [])])
    return [...versions].map((own) => ({
      name: `p${from}`,
      version: own,
      needs: some(chance(50) ? 1 : 4, () =>
        Array.from({ length: chance(40) ? 1 + random(3) : 1 }, () => relation(from, 25)),
      ),
      excludes: chance(20) ? some(2, () => relation(from, 50)) : [],
      provides: chance(25)
        ? some(2, () => ({
            name: `v${(from + random(10)) % Math.ceil(names / 8)}`,
            ...(chance(50) ? { version: version() } : {}),
          }))
        : [],
    }))
  }).flat()
}
