// Gives each client a signed index and its signature from one generation, even when a flip happens between the two requests.
import { realpathSync, statSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { relative } from 'node:path'
import type { SignedPair } from '../formats/serving.ts'
import { after } from '../kernel/at-once.ts'
import { ifMissing } from '../kernel/files.ts'
import { isRemote } from '../kernel/remote.ts'
import type { StallGuard } from '../kernel/stall-guard.ts'
import type { PairRequest } from './pair-reading.ts'
import type { PairAnswer, PairTurns } from './pair-turns.ts'
import type { Located } from './request-path.ts'

/**
 * The rpm repository format has the index and its signature in two files. A client that reads one before a flip and
 * the other after it sees a bad signature and gives up. Clients differ in the order of their requests (observed with dnf
 * 4.14 and zypper 1.14.42, each request on its own connection): dnf reads the index, then the signature; zypper reads
 * the signature, the key, then the index, and tests for changes with a HEAD and a GET of the index. Clients that cannot
 * be distinguished read one generation at a time: after a flip the next client waits until the others have their pair.
 */
export interface SignedPairs {
  /**
   * @param client identifies the client
   * @returns where to read the file; unchanged for a file that belongs to no pair
   */
  place(file: Located, method: string, client: () => string): Located | Promise<Located>
}

interface Asked {
  file: Located
  request: PairRequest
  client: string
  /** how often the client has waited */
  waits: number
}

interface LiveFile {
  directory: string
  name: string
  /** the generation that is live */
  live: string
}

/** Most waits of a client, each because of another flip. */
const MOST_WAITS = 5

/** @param inTime runs work on a remote file system */
export function createSignedPairs(reposDir: string, turns: PairTurns, inTime: StallGuard): SignedPairs {
  const generationOf = isRemote(reposDir)
    ? (directory: string) => inTime(() => farGeneration(reposDir, directory).catch(() => null))
    : (directory: string) => nearGeneration(reposDir, directory)
  const isFile = isRemote(reposDir) ? (path: string) => inTime(() => isFarFile(path)) : isNearFile

  /** @param waits number of times that the client has waited */
  const placed = (file: Located, request: PairRequest, client: string, waits: number): Located | Promise<Located> => {
    const slash = file.path.lastIndexOf('/')
    const [directory, name] = [file.path.slice(0, slash), file.path.slice(slash + 1)]
    return after(generationOf(directory), (live) =>
      live === null ? file : placedIn({ directory, name, live }, { file, request, client, waits }),
    )
  }

  const placedIn = ({ directory, name, live }: LiveFile, asked: Asked): Located | Promise<Located> => {
    const { file, request, client, waits } = asked
    const settle = (answer: PairAnswer): Located | Promise<Located> => {
      if ('again' in answer) return placed(file, request, client, waits + 1)
      const isThere = answer.generation === live || isFile(`${reposDir}/${answer.generation}/${name}`)
      return after(isThere, (there) => {
        const generation = there ? answer.generation : live
        // The path always names the generation: the checked file is the one that is sent.
        const path = `${generation}/${name}`
        return generation === live ? { ...file, path, publishedAs: file.path } : { ...file, path }
      })
    }
    const answer = turns({ name: `${directory} ${client}`, request, live, mayWait: waits < MOST_WAITS })
    return after(answer, settle)
  }

  return {
    place(file, method, client) {
      const pair = file.mount.format?.serving.signedPair
      const request = pair ? requestOf(pair, file.path.slice(file.path.lastIndexOf('/') + 1), method) : null
      return request === null ? file : placed(file, request, client(), 0)
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
function nearGeneration(reposDir: string, directory: string): string | null {
  try {
    return relative(realpathSync(reposDir), realpathSync(`${reposDir}/${directory}`))
  } catch {
    return null
  }
}

async function farGeneration(reposDir: string, directory: string): Promise<string> {
  const [root, real] = await Promise.all([realpath(reposDir), realpath(`${reposDir}/${directory}`)])
  return relative(root, real)
}

async function isFarFile(path: string): Promise<boolean> {
  return (await stat(path).catch(ifMissing(null)))?.isFile() ?? false
}

function isNearFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
