// Work on a list, a fixed number of items at the same time.

/** Works on `size` items at the same time, group after group, and starts no further group after a failure. */
export async function inGroups<I, O>(
  items: readonly I[],
  size: number,
  work: (item: I) => O | Promise<O>,
): Promise<O[]> {
  const done: O[] = []
  for (const group of groupsOf(items, size)) done.push(...(await Promise.all(group.map((item) => work(item)))))
  return done
}

/** The items in groups of `size`; the last one may be smaller. */
export function* groupsOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let group: T[] = []
  for (const item of items) {
    if (group.push(item) < size) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}
