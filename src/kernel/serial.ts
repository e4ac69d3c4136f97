// A queue that runs one piece of work after another.

/** Runs each piece of work after the previous one, in the order of the calls. A failure does not stop the next. */
export function createSerial(): <T>(work: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = tail.then(work, work)
    tail = result.catch(() => {})
    return result
  }
}
