// Waiting for the next turn of the event loop.

/** Yields once, so that callers of the same turn can join and timers and sockets are served. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
