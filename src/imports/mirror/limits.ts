// The limits of one run of a mirror: packages, minutes and free disk space.
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { GIB } from '../room.ts'

const MINUTE_MS = 60_000

/** Why a run ended early: the name of a setting, or of a key of the selection. */
export type StopReason = 'max_packages_per_run' | 'max_runtime_minutes' | 'min_free_disk_gb' | 'remove_at_most_percent'

export interface RunLimits {
  /** @returns why another package must not be begun; null when it may */
  before(next: { begun: number; sizeBytes: number; bytesUnderWay: number }): Promise<StopReason | null>
  /** milliseconds until the run must end */
  remainingMs(): number
  /** milliseconds that the run has taken, in earlier processes too */
  elapsedMs(): number
}

/**
 * @param run.elapsedMs of earlier processes
 * @param run.packages lowers the limit of the settings
 */
export function createRunLimits(
  deps: { clock: Clock; settings(): Settings; freeBytes(): Promise<number> },
  run: { elapsedMs: number; packages: number | null },
): RunLimits {
  const startedAt = deps.clock.now().getTime()
  const elapsedMs = () => run.elapsedMs + deps.clock.now().getTime() - startedAt
  const remainingMs = () => deps.settings().mirror.max_runtime_minutes * MINUTE_MS - elapsedMs()
  return {
    elapsedMs,
    remainingMs,
    async before({ begun, sizeBytes, bytesUnderWay }) {
      const { max_packages_per_run: most, min_free_disk_gb: least } = deps.settings().mirror
      if (begun >= Math.min(most, run.packages ?? most)) return 'max_packages_per_run'
      if (remainingMs() <= 0) return 'max_runtime_minutes'
      if ((await deps.freeBytes()) - bytesUnderWay - sizeBytes < least * GIB) return 'min_free_disk_gb'
      return null
    },
  }
}
