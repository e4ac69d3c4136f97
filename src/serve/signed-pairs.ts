// Keeps a signed index and its signature from one generation for each client, across a flip between the two requests.
import { realpathSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import type { SignedPair } from '../formats/serving.ts'
import { IDLE, step, type PairRequest, type Reading } from './pair-reading.ts'
import type { Located } from './request-path.ts'

/**
 * The rpm repository format keeps the index and its signature in two files. A client that reads one before a flip and
 * the other after it sees a bad signature and gives up. Clients differ in the order of their requests (observed with dnf
 * 4.14 and zypper 1.14.42, each request on its own connection): dnf reads the index, then the signature; zypper reads
 * the signature, the key, then the index, and tests for changes with a HEAD and a GET of the index. Clients that cannot
 * be told apart share one state, which is never older than what the last of them started with.
 */
export interface SignedPairs {
  /**
   * @param client identifies the client
   * @returns where to read the file; the same where it is no part of a pair
   */
  place(file: Located, method: string, client: () => string, nowMs: number): Located
}

const MOST_CLIENTS = 4_096

export function createSignedPairs(reposDir: string): SignedPairs {
  /** in order of use */
  const readings = new Map<string, Reading>()

  const keep = (key: string, reading: Reading): void => {
    readings.delete(key)
    readings.set(key, reading)
    if (readings.size > MOST_CLIENTS) readings.delete(readings.keys().next().value as string)
  }

  return {
    place(file, method, client, nowMs) {
      const pair = file.mount.format?.serving.signedPair
      const slash = file.path.lastIndexOf('/')
      const name = file.path.slice(slash + 1)
      const request = pair ? requestOf(pair, name, method) : null
      if (request === null) return file
      const directory = file.path.slice(0, slash)
      const live = generationOf(reposDir, directory)
      if (live === null) return file
      const key = `${directory} ${client()}`
      const { reading, generation } = step(readings.get(key) ?? IDLE, request, {
        nowMs,
        live,
        has: (candidate) => isFile(`${reposDir}/${candidate}/${name}`),
      })
      keep(key, reading)
      // Named by the generation in any case: what was checked is what is sent.
      const path = `${generation}/${name}`
      return generation === live ? { ...file, path, publishedAs: file.path } : { ...file, path }
    },
  }
}

function requestOf(pair: SignedPair, name: string, method: string): PairRequest | null {
  if (name === pair.index) return method === 'GET' ? 'index' : 'probe'
  if (method !== 'GET') return null
  if (name === pair.signature) return 'signature'
  return name === pair.key ? 'key' : null
}

/** The real directory, relative to `reposDir`; null when it does not exist. */
function generationOf(reposDir: string, directory: string): string | null {
  try {
    return relative(realpathSync(reposDir), realpathSync(`${reposDir}/${directory}`))
  } catch {
    return null
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
