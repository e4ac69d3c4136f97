// For unit tests of the ClamAV engine: a directory, fake daemons and engines, removed after each test.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { createLog } from '../../src/kernel/log.ts'
import { createClamav, type Clamav, type ClamavOptions } from '../../src/gate/engines/clamav/clamav.ts'
import type { ClamavLimits } from '../../src/gate/engines/clamav/connection.ts'
import { startFakeClamd, type FakeClamd, type FakeClamdOptions } from '../fakes/clamd.ts'
import { createTarget } from './target.ts'

export const MIB = 1024 * 1024
const MINUTES = 600_000
/** So long that nothing times out, even on a machine that stalls. */
export const LONG_LIMITS: ClamavLimits = { connectMs: MINUTES, idleMs: MINUTES, answerMs: MINUTES, overallMs: MINUTES }

/** Registers hooks: call it once at the top of a test file. */
export function useClamd() {
  let directory = ''
  let fakes: FakeClamd[] = []

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'clamav-'))
  })
  afterEach(async () => {
    await Promise.all(fakes.map((fake) => fake.close()))
    fakes = []
    await rm(directory, { recursive: true })
  })

  return {
    directory: () => directory,
    target: (...what: Parameters<typeof createTarget> extends [string, ...infer Rest] ? Rest : never) =>
      createTarget(directory, ...what),
    async fake(options: FakeClamdOptions = {}): Promise<FakeClamd> {
      const started = await startFakeClamd(options)
      fakes.push(started)
      return started
    },
    /** the address of a daemon that has stopped */
    async gone(): Promise<Pick<FakeClamd, 'address'>> {
      const { address, close } = await startFakeClamd()
      await close()
      return { address }
    },
    engine(clamd: Pick<ClamavOptions, 'address'>, options: Partial<ClamavOptions> = {}): Clamav {
      const clock = { now: () => new Date() }
      return createClamav({
        address: clamd.address,
        maxStreamBytes: 4 * MIB,
        clock,
        log: createLog('silent'),
        limits: LONG_LIMITS,
        ...options,
      })
    },
  }
}
