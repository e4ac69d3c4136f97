// A queue of one: runs work one piece after another.

/** Runs each piece of work after the one before it, in the order of the calls. A failure does not stop the next. */
export function createSerial(): <T>(work: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = tail.then(work, work)
    tail = result.catch(() => {})
    return result
  }
}
