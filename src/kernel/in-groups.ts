// Work on a list, a fixed number of items at the same time.

/** Works on `size` items at the same time, group after group, and starts no further group after a failure. */
export async function inGroups<I, O>(
  items: readonly I[],
  size: number,
  work: (item: I) => O | Promise<O>,
): Promise<O[]> {
  const done: O[] = []
  for (let at = 0; at < items.length; at += size)
    done.push(...(await Promise.all(items.slice(at, at + size).map(work))))
  return done
}
