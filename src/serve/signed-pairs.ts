// From which generation a client reads `repomd.xml` and the signature beside it: a flip between the two must not part them.
import { realpathSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import type { Located } from './request-path.ts'

/**
 * The rpm repository format keeps index and signature in two files, so a client that asks for one before a flip and for
 * the other after it sees a signature that does not fit, and gives up. Clients say by what they ask for, and in which
 * order, what they are about (seen of dnf 4.14 and zypper 1.14.42, 2026-11-21; each request on a connection of its own):
 * dnf asks for the index, then its signature; zypper for the signature, `repomd.xml.key`, then the index; and zypper
 * looks whether anything changed with a HEAD of the index and a GET of it alone. The second half of a pair is taken from
 * the generation of the first; everything else is the live one. Where several clients cannot be told apart the last
 * first half counts, which is never further from what each of them has than the live generation is.
 */
export interface SignedPairs {
  /** @param client what tells one client from another @returns where the file is to be read, the same where it is of no pair */
  place(file: Located, method: string, client: string, nowMs: number): Located
}

interface Half {
  /** of the generation, relative to the repositories' directory */
  directory: string
  atMs: number
}

interface Reading {
  index?: Half
  signature?: Half
  /** the signature again, once the key was asked for after it */
  keyed?: Half
  lookedAtMs: number
}

const PAIR = /^(.*\/repodata)\/(repomd\.xml(?:\.asc|\.key)?)$/
/** Between one request of a pair and the next; clients take some 30 ms on loopback, seconds on a busy machine. */
const LONGEST_PAUSE_MS = 15_000
const MOST_CLIENTS = 4_096

export function createSignedPairs(reposDir: string): SignedPairs {
  /** the one heard of last comes last */
  const readings = new Map<string, Reading>()

  function readingOf(key: string): Reading {
    const reading = readings.get(key) ?? { lookedAtMs: -Infinity }
    readings.delete(key)
    readings.set(key, reading)
    if (readings.size > MOST_CLIENTS) readings.delete(readings.keys().next().value as string)
    return reading
  }

  return {
    place(file, method, client, nowMs) {
      const [, directory, name] = PAIR.exec(file.path) ?? []
      if (directory === undefined || name === undefined) return file
      const reading = readingOf(`${directory} ${client}`)
      const usable = (half: Half | undefined) =>
        half && nowMs - half.atMs <= LONGEST_PAUSE_MS && isThere(`${reposDir}/${half.directory}/${name}`) ? half : null

      if (name === 'repomd.xml.key') {
        if (reading.signature) reading.keyed = { ...reading.signature, atMs: nowMs }
        return file
      }
      const live = generationOf(reposDir, directory)
      if (live === null) return file
      let from = live
      if (method !== 'GET') {
        if (name === 'repomd.xml') reading.lookedAtMs = nowMs
      } else if (name === 'repomd.xml.asc') {
        from = usable(reading.index)?.directory ?? live
        reading.signature = { directory: from, atMs: nowMs }
      } else {
        const isLook =
          reading.lookedAtMs > (reading.keyed?.atMs ?? -Infinity) && nowMs - reading.lookedAtMs <= LONGEST_PAUSE_MS
        const first = isLook ? null : usable(reading.keyed)
        if (first) from = first.directory
        else if (!isLook) reading.index = { directory: live, atMs: nowMs }
        reading.lookedAtMs = -Infinity
      }
      // By the generation's own name in any case: what was looked at is what is sent.
      const path = `${from}/${name}`
      return from === live ? { ...file, path, publishedAs: file.path } : { ...file, path }
    },
  }
}

/** The real directory, relative to `reposDir`; null when it is not there. */
function generationOf(reposDir: string, directory: string): string | null {
  try {
    return relative(realpathSync(reposDir), realpathSync(`${reposDir}/${directory}`))
  } catch {
    return null
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
