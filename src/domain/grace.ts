// The grace time of clients that hold an older index.

/** How long a client may use an index it already downloaded. */
export const GRACE_MS = 15 * 60_000
