// Waiting for the next turn of the event loop.

/** Yields once so that callers of the same turn join, and that timers and sockets are served. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
