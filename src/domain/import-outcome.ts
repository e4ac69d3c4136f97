// The outcomes of importing one of several packages.

/** `skipped`: the same bytes are there already; `blocked`: quarantined now, or rejected before. */
export const IMPORT_OUTCOMES = ['added', 'pending_review', 'blocked', 'skipped', 'error'] as const
export type ImportOutcome = (typeof IMPORT_OUTCOMES)[number]

/** Counts of packages by outcome, all zero. */
export function noOutcomes(): Record<ImportOutcome, number> {
  return Object.fromEntries(IMPORT_OUTCOMES.map((outcome) => [outcome, 0])) as Record<ImportOutcome, number>
}
