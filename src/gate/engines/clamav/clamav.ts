// The ClamAV engine: scans packages over clamd's socket and reports the daemon's status.
import { isProblem } from '../../../domain/problem.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import { createSemaphore } from '../../../kernel/semaphore.ts'
import type { Antivirus, AntivirusResult, ScanTarget } from '../scanner.ts'
import type { EngineVersion } from './answer.ts'
import type { ClamavAddress, ClamavLimits } from './connection.ts'
import { askVersion } from './daemon.ts'
import { databaseFiles } from './database-files.ts'
import { limitsWarning, probeLimits, shownLimits, type EngineLimits } from './limits.ts'
import { scanPackage } from './scan.ts'
import { scanStream } from './stream.ts'

export const CLAMAV_LIMITS: ClamavLimits = { connectMs: 5_000, idleMs: 60_000, answerMs: 180_000, overallMs: 900_000 }

/**
 * Packages scanned at the same time. A bulk import has over a hundred in the gate. If all were scanned at once, they would
 * share the threads that unpack and those of clamd (10 by default), and each could time out while it waits for the others.
 */
const SCANS_AT_ONCE = 4
const STATUS_FRESH_MS = 5_000
/** The daemon's configuration may change at any time; measuring costs the daemon some seconds. */
const LIMITS_FRESH_MS = 24 * 60 * 60_000

export interface ClamavOptions {
  address: ClamavAddress
  /**
   * Larger streams are not sent. Must not exceed the daemon's StreamMaxLength, above which clamd answers with an error, nor
   * its MaxFileSize, above which clamd answers OK without scanning, unless `AlertExceedsMax yes` is set.
   */
  maxStreamBytes: number
  /** directory of the daemon's signatures, if this process can read it */
  databaseDirectory?: string
  clock: Clock
  log: Log
  limits?: ClamavLimits
}

export interface Clamav extends Antivirus {
  /**
   * Streams every member of the package, decompressed, each followed by the files inside it that clamd does not unpack itself;
   * last the package file as received. Stops at the first finding. Holds a few MiB of memory.
   * @param target.signal ends the scan with its reason
   * @throws Problem('scanner_unavailable') when the daemon is down, loading, or goes down midway
   * @throws what `target.contents()` throws
   */
  scan(target: ScanTarget & { signal?: AbortSignal }): Promise<AntivirusResult>
  /** Measures the daemon's limits, unless that was done less than a day ago. Never throws; a daemon that is down is asked again next time. */
  measureLimits(): Promise<void>
}

export function createClamav(options: ClamavOptions): Clamav {
  const { address, maxStreamBytes, databaseDirectory, clock, log, limits = CLAMAV_LIMITS } = options
  const never = new AbortController().signal
  const inTurn = createSemaphore(SCANS_AT_ONCE)
  let measured: { at: number; limits: EngineLimits } | null = null
  let asked: { at: number; version: Promise<EngineVersion | null> } | null = null

  /** Asks at most once in five seconds; a failure is cached for the same time. */
  function version(): Promise<EngineVersion | null> {
    const now = clock.now().getTime()
    if (!asked || now - asked.at >= STATUS_FRESH_MS || now < asked.at) {
      asked = { at: now, version: askVersion(address, limits, never) }
      asked.version.catch(() => {})
    }
    return asked.version
  }

  return {
    async status() {
      const { files, updatedAt } = await databaseFiles(databaseDirectory)
      const common = {
        engine: 'ClamAV',
        db_updated_at: updatedAt,
        db_files: files,
        cooldown_until: null,
        limits: measured && shownLimits(measured.limits),
        warning: measured && limitsWarning(measured.limits),
      }
      try {
        const known = await version()
        return {
          ...common,
          available: true,
          version: known?.version ?? null,
          db_version: known?.dbVersion ?? null,
          db_date: known?.dbDate ?? null,
          daemon_running: true,
          error: null,
        }
      } catch (error) {
        const detail = isProblem(error) ? error.detail : 'the antivirus engine does not answer'
        return {
          ...common,
          available: false,
          version: null,
          db_version: null,
          db_date: null,
          daemon_running: false,
          error: detail,
        }
      }
    },

    async scan(target) {
      const known = await version().catch(() => {
        // The daemon may have started since the cached failure.
        asked = null
        return version()
      })
      const engine = measured?.limits ?? null
      const { signal } = target
      const tally = await inTurn(() => scanPackage(target, { address, limits, maxStreamBytes, engine, signal }))
      const { coverage, ...outcome } = tally.result({
        version: known?.version ?? null,
        databaseDate: known?.dbDate ?? null,
      })
      const result = {
        ...outcome,
        coverage: measured ? { ...coverage, engine_limits: shownLimits(measured.limits) } : coverage,
      }
      if (result.result === 'error')
        log.warn({ file: target.filename, detail: result.message }, 'antivirus engine failed on a file')
      return result
    },

    async measureLimits() {
      const now = clock.now().getTime()
      if (measured && now - measured.at < LIMITS_FRESH_MS) return
      try {
        const found = await probeLimits(async (content) => {
          const stream = { address, limits, maxBytes: Infinity, signal: never }
          return (await scanStream(once(content), stream)).answer
        })
        measured = { at: now, limits: found }
        const warning = limitsWarning(found)
        if (warning) log.warn({ limits: shownLimits(found) }, warning)
      } catch (error) {
        log.info({ err: error }, 'the limits of the antivirus engine could not be measured')
      }
    },
  }
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}
