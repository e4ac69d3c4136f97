// The differences between what was stored and what is on disk.

/** What a file belongs to. */
export const DRIFT_AREAS = ['pool', 'quarantine', 'tree', 'index', 'manifests', 'keys', 'settings', 'audit'] as const
export type DriftArea = (typeof DRIFT_AREAS)[number]

/** What is wrong with a file. `unknown`: nothing names it. */
export const DRIFT_FAULTS = ['missing', 'wrong_size', 'wrong_content', 'wrong_link', 'wrong_mode', 'unknown'] as const
export type DriftFault = (typeof DRIFT_FAULTS)[number]

/** What a repair does about a finding. `rebuild`: index and links of the distribution; `none`: a person has to. */
export const REMEDY_ACTIONS = ['restore', 'quarantine', 'rebuild', 'delete', 'write', 'none'] as const
export type RemedyAction = (typeof REMEDY_ACTIONS)[number]
