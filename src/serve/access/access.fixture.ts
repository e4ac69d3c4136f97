// For tests: writes the files that the service writes for listeners.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../kernel/clock.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { createLog } from '../../kernel/log.ts'
import { tokenDigest } from '../../kernel/token-digest.ts'
import {
  factsName,
  MARKERS,
  markerOf,
  newFactsKey,
  publicFactsKey,
  signStamp,
  STAMP_FILE,
  type Facts,
} from './facts.ts'
import { createKnownAccess, type KnownAccessDeps } from './known-access.ts'

export const tokenOf = (letter: string) => `svcm_${letter.repeat(43)}`

export interface Written {
  private: string[]
  /** places by token */
  tokens?: Record<string, string[]>
  certificates?: Record<string, string>
  ends?: number
}

/** The directory of facts in a repositories' directory, with a key of its own. */
export function createAccessFiles(reposDir: string) {
  const directory = join(reposDir, 'access')
  const keyPath = join(reposDir, 'keys/access.pub')
  const key = newFactsKey()
  mkdirSync(join(directory, MARKERS), { recursive: true })
  mkdirSync(join(reposDir, 'keys'), { recursive: true })
  writeFileSync(keyPath, publicFactsKey(key))

  return {
    directory,
    keyPath,
    stampPath: join(directory, STAMP_FILE),
    mark: (place: string) => writeFileSync(join(directory, MARKERS, markerOf(place)), ''),
    unmark: (place: string) => rmSync(join(directory, MARKERS, markerOf(place)), { force: true }),
    /** @param at time of the stamp, in ms since 1970 @returns path of the facts */
    write({ tokens = {}, certificates = {}, ends = 0, ...given }: Written, at = Date.now(), signedBy = key): string {
      const entries = Object.entries(tokens)
      const facts: Facts = {
        version: 1,
        private: given.private,
        rights: entries.map(([, places]) => places.map((place) => given.private.indexOf(place))),
        credentials: entries.map(([token], nth) => [tokenDigest(token, false), nth, `machine:m${nth}`, ends]),
        certificates: Object.entries(certificates).map(([name, token]) => [
          name,
          entries.findIndex(([known]) => known === token),
        ]),
      }
      const text = JSON.stringify(facts)
      const path = join(directory, factsName(sha256Hex(text)))
      writeFileSync(path, text)
      writeFileSync(join(directory, STAMP_FILE), signStamp({ version: 1, at, digest: sha256Hex(text) }, signedBy))
      return path
    },
    known: (more: Partial<KnownAccessDeps> = {}) =>
      createKnownAccess({
        ...{ directory, keyPath, clock: systemClock, log: createLog('silent'), hours: 24, everyMs: 60_000 },
        ...more,
      }),
  }
}
