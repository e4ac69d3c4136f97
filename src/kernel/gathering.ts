// Groups concurrent callers, so that they share one query.

/**
 * A caller waits until `most` callers are waiting, or until the first of them has waited for `waitMs`. Then all of them
 * continue in the same turn.
 */
export function createGathering(most: number, waitMs: number): () => Promise<void> {
  let waiting: (() => void)[] = []
  let timer: NodeJS.Timeout | undefined

  function go(): void {
    clearTimeout(timer)
    timer = undefined
    const together = waiting
    waiting = []
    for (const resolve of together) resolve()
  }

  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) >= most) go()
      else timer ??= setTimeout(go, waitMs)
    })
}
