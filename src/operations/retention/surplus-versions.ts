// Which versions of packages exceed the number that a distribution keeps. Pure.

export interface PublishedVersion {
  id: number
  name: string
  version: string
  arch: string
  importedAt: Date
}

export interface KeepRule {
  /** number of newest versions of each name and architecture that stay; at least 1 */
  keep: number
  /** versions that arrived later stay */
  before: Date
  /** order of versions, as the format defines it */
  compare(a: string, b: string): number
}

/** @returns the versions beyond the newest, oldest first; of equal versions the earlier arrival counts as older */
export function surplusVersions(
  versions: readonly PublishedVersion[],
  { keep, before, compare }: KeepRule,
): PublishedVersion[] {
  const groups = new Map<string, PublishedVersion[]>()
  for (const one of versions) {
    const key = JSON.stringify([one.name, one.arch])
    const group = groups.get(key)
    if (group) group.push(one)
    else groups.set(key, [one])
  }
  return [...groups.values()].flatMap((group) =>
    group
      .sort((a, b) => compare(a.version, b.version) || a.id - b.id)
      .slice(0, -Math.max(1, keep))
      .filter(({ importedAt }) => importedAt < before),
  )
}
