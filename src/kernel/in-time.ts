// Time limits for work that nothing can stop.

/** @throws Error when the work has no result after `ms` milliseconds; it then continues unobserved */
export async function inTime<T>(work: () => Promise<T>, ms: number): Promise<T> {
  return before(ms, work(), () => {
    throw new Error(`no answer within ${ms / 1000} s`)
  })
}

/** Resolves when the work has ended, or after `ms` milliseconds; it then continues unobserved. @throws its earlier error */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  await before(ms, work, () => undefined)
}

/** The result of the work; after `ms` milliseconds the result or error of `late`. */
async function before<T>(ms: number, work: Promise<T>, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const due = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))).then(late)
  try {
    return await Promise.race([work, due])
  } finally {
    clearTimeout(timer)
  }
}

/** @throws the signal's reason when the work has not ended `ms` milliseconds after the abort; it then continues unobserved */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let begin: (() => void) | undefined
  const late = new Promise<never>((_, reject) => {
    begin = () => (timer = setTimeout(() => reject(signal.reason as Error), ms))
    if (signal.aborted) begin()
    else signal.addEventListener('abort', begin, { once: true })
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    if (begin) signal.removeEventListener('abort', begin)
  }
}
