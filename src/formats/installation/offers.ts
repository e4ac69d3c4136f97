// What packages offer under a name, stored in a few arrays: a distribution has 200,000 offers.

export interface Offered {
  index: number
  /** null: the offer states none */
  version: string | null
  /** whether the name is the package's own, not one that it provides */
  own: boolean
}

export interface NameOffers {
  add(name: string, index: number, version: string | null, own: boolean, multiArch: string | null): void
  each(
    name: string,
    visit: (index: number, version: string | null, own: boolean, multiArch: string | null) => void,
  ): void
  /** Names with more than one offer. */
  eachName(visit: (name: string, list: Offered[]) => void): void
  /** The packages that offer a name in any version. */
  packagesOf(name: string): number[]
}

export function createOffers(): NameOffers {
  const packages: number[] = []
  const offered: (string | null)[] = []
  const owns: boolean[] = []
  const multiArchs: (string | null)[] = []
  /** the last offer of each name; each refers to the previous one */
  const last = new Map<string, number>()
  const before: number[] = []

  function listOf(name: string): number[] {
    const found: number[] = []
    for (let at = last.get(name) ?? -1; at !== -1; at = before[at]!) found.push(at)
    return found.reverse()
  }

  return {
    add(name, index, version, own, multiArch) {
      before.push(last.get(name) ?? -1)
      last.set(name, packages.push(index) - 1)
      offered.push(version)
      owns.push(own)
      multiArchs.push(multiArch)
    },
    each(name, visit) {
      for (const at of listOf(name)) visit(packages[at]!, offered[at]!, owns[at]!, multiArchs[at]!)
    },
    eachName(visit) {
      for (const [name, at] of last)
        if (before[at] !== -1)
          visit(
            name,
            listOf(name).map((one) => ({ index: packages[one]!, version: offered[one]!, own: owns[one]! })),
          )
    },
    packagesOf: (name) => [...new Set(listOf(name).map((at) => packages[at]!))],
  }
}
