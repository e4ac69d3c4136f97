// Durations in milliseconds that do not depend on the calendar or on clock changes.

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
