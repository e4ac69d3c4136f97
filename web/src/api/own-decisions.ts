// Tells the events that one's own decisions cause from those of others: the first are no news to the person who decided. Pure.

export interface OwnDecisions {
  /** @param count packages that this tab decided and that do not wait any more */
  decided(count: number): void
  /** @param pending how many wait now. @returns whether more changed than was decided here since the last call */
  isNews(pending: number): boolean
}

export function createOwnDecisions(): OwnDecisions {
  let last = NaN
  let own = 0
  return {
    decided(count) {
      own += count
    },
    isNews(pending) {
      const gone = last - pending
      last = pending
      // Large decisions are told in several events.
      const isOwn = gone > 0 && gone <= own
      own = isOwn ? own - gone : 0
      return !isOwn
    },
  }
}
