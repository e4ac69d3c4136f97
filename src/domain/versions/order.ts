// What a version order is. Pure.

/** Negative, zero or positive; total over any two strings. */
export type Order = (a: string, b: string) => number

/** The same order without rpm epochs, for versions taken from names of source packages, which omit them. */
export function ignoringEpoch(order: Order): Order {
  const bare = (version: string) => version.replace(/^[0-9]+:/, '')
  return (a, b) => order(bare(a), bare(b))
}
