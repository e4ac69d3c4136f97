// Counts work that will soon join a common step, so that the step can wait a moment for it.

export interface InFlight {
  /** Counts one more. @returns a function to call when it has joined or never will; further calls have no effect */
  add(): () => void
  /** Waits until the count is zero, at most `atMostMs` milliseconds. */
  drained(atMostMs: number): Promise<void>
}

export function createInFlight(): InFlight {
  let count = 0
  let waiting: (() => void)[] = []
  return {
    add() {
      let open = true
      count++
      return () => {
        if (!open) return
        open = false
        if (--count > 0) return
        for (const resolve of waiting) resolve()
        waiting = []
      }
    },
    async drained(atMostMs) {
      if (count === 0) return
      let timer: NodeJS.Timeout | undefined
      await Promise.race([
        new Promise<void>((resolve) => waiting.push(resolve)),
        new Promise<void>((resolve) => (timer = setTimeout(resolve, atMostMs))),
      ])
      clearTimeout(timer)
    },
  }
}
