// Finds the groups that contain a person's groups, by following the group attribute upwards.

/** Groups of one person whose parents are asked for. */
const MOST_ASKED = 500

/**
 * @param parentsOf the groups that a group is a member of
 * @returns the direct groups, then those above them, each once, so a cycle does no harm
 */
export async function nestedGroups(
  direct: readonly string[],
  parentsOf: (group: string) => Promise<string[]>,
): Promise<string[]> {
  const seen = new Map(direct.map((group) => [group.toLowerCase(), group]))
  let asked = 0
  // A map is iterated in the order of insertion, including entries added meanwhile.
  for (const group of seen.values()) {
    if (asked++ === MOST_ASKED) break
    for (const parent of await parentsOf(group)) {
      const key = parent.toLowerCase()
      if (!seen.has(key)) seen.set(key, parent)
    }
  }
  return [...seen.values()]
}
