/** Something that a source offers and that is not read, besides packages that are left out. */
export interface NotCarried {
  /** an open list */
  what: 'architectures' | 'packages' | 'components' | 'modules' | 'groups' | 'advisories' | 'products'
  /** null where it was not counted */
  count: number | null
  /** some of them, where they have names */
  names: string[]
}

const MOST_NAMES = 30
const LONGEST_NAME = 100

/** Packages that the target of a source does not take. */
export function otherPackages(byArch: readonly { arch: string; n: number }[]): NotCarried[] {
  const count = byArch.reduce((sum, { n }) => sum + n, 0)
  return leftBehind(
    'packages',
    byArch.map(({ arch }) => arch),
  ).map((one) => ({ ...one, count }))
}

/** @returns none where nothing is left behind */
export function leftBehind(what: NotCarried['what'], all: readonly string[]): NotCarried[] {
  const names = all.slice(0, MOST_NAMES).map((one) => one.slice(0, LONGEST_NAME))
  return all.length === 0 ? [] : [{ what, count: all.length, names }]
}

export function sentenceOf({ what, count, names }: NotCarried): string {
  const number = count === null ? what : `${count} ${what}`
  return names.length === 0 ? number : `${number} (${names.join(', ')})`
}
