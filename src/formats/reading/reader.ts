// Reads packages in the readers of the pool: large ones alone, small ones some at a time.
import { statName } from '../../kernel/names.ts'
import type { ReadOptions } from '../ecosystem.ts'
import { isEndedByOthers } from '../readers/process.ts'
import { once, type ReaderPool } from '../readers/pool.ts'
import { isFacts, type FactsReply, type Request } from './messages.ts'

/** A reader reads a package of this size in a few milliseconds, so others may wait for it. */
const SMALL_BYTES = 256 * 1024
/** Small packages in one request. */
const TOGETHER = 8

interface Waiting {
  path: string
  resolve(reply: FactsReply | Promise<FactsReply>): void
  reject(error: unknown): void
}

export function createReader(pool: ReaderPool, format: string) {
  /** packages of this turn of the event loop */
  let waiting: { options: ReadOptions; packages: Waiting[] } | null = null

  const readAlone = (path: string, options: ReadOptions): Promise<FactsReply> =>
    once(pool, (lease) => lease.post({ kind: 'read', format, path, options } satisfies Request), isFacts)

  async function readEach(packages: readonly Waiting[], options: ReadOptions): Promise<void> {
    const lease = await pool.acquire()
    try {
      const paths = packages.map(({ path }) => path)
      lease.post({ kind: 'read-each', format, paths, options } satisfies Request)
      for (const { path, resolve, reject } of packages) {
        try {
          resolve(await lease.receive(isFacts))
        } catch (error) {
          // One of the packages ended the reader, or somebody else did: read alone, only the guilty package fails.
          if (lease.isDead() && (packages.length > 1 || isEndedByOthers(error))) resolve(readAlone(path, options))
          else reject(error)
        }
      }
    } finally {
      lease.release()
    }
  }

  function begin(): void {
    const { packages = [], options = {} } = waiting ?? {}
    waiting = null
    for (let at = 0; at < packages.length; at += TOGETHER) {
      const together = packages.slice(at, at + TOGETHER)
      readEach(together, options).catch((error: unknown) => {
        for (const { reject } of together) reject(error)
      })
    }
  }

  return {
    readAlone,
    /**
     * Small packages of one turn share requests, so that a reader does not wait until the event loop sends it the next one.
     * @param options the same for all packages of a turn
     */
    async readTogether(path: string, options: ReadOptions): Promise<FactsReply> {
      const { size = 0 } = (await statName(path)) ?? {}
      if (size > SMALL_BYTES) return readAlone(path, options)
      return new Promise((resolve, reject) => {
        if (!waiting) {
          waiting = { options, packages: [] }
          setImmediate(begin)
        }
        waiting.packages.push({ path, resolve, reject })
      })
    },
  }
}
