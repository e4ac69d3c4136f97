// Days as numbers: days since 1970, UTC.

export const DAY_SECONDS = 86_400

export const dayOf = (time: Date): number => Math.floor(time.getTime() / 1000 / DAY_SECONDS)

/** `2026-03-01` */
export const dateOf = (day: number): string => new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 10)
