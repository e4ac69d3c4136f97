// The keys that upstreams sign files with: kept for an hour, and passed on to clients.
import { LRUCache } from 'lru-cache'
import { isObject, objectsAt, parseJson, stringAt, timeAt, type Json } from '../domain/json.ts'
import { isProblem } from '../domain/problem.ts'
import type { RegistryKey } from '../domain/provenance.ts'
import type { UpstreamReading } from '../formats/registry-format.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Repository } from '../registries/repositories.ts'
import type { RegistryAddress, RegistryClient } from '../upstream/registries/registry-client.ts'

/** A key as registries list theirs. */
export interface ListedKey {
  /** ISO 8601; null for one without an end */
  expires: string | null
  keyid: string
  keytype: string
  scheme: string
  key: string
}

export interface RegistryKeys {
  /**
   * Null when the upstream has none, or does not answer.
   * @param wanted what files name: a key that is not known yet is looked for again
   */
  of(repository: Repository, wanted?: readonly string[]): Promise<ListedKey[] | null>
}

const FRESH_MS = 3600_000
/** A key that the upstream does not offer is looked for no more often than this. */
const AGAIN_MS = 60_000
const FAILED_MS = 30_000
const MOST_BYTES = 64 * 1024
const MOST_KEYS = 32

export function createRegistryKeys(deps: {
  clock: Clock
  client: Pick<RegistryClient, 'text'>
  readingOf(repository: Repository): UpstreamReading
  addressOf(repository: Repository): RegistryAddress
}): RegistryKeys {
  /** by repository and address; requests at the same time share one */
  const kept = new LRUCache<string, Known>({ max: 1000 })

  async function fetched(repository: Repository, keysPath: string): Promise<ListedKey[] | null> {
    const at = deps.addressOf(repository)
    const text = await deps.client.text(at, `${at.url}/${keysPath}`, MOST_BYTES)
    return text === null ? null : keysIn(text)
  }

  /** What was known stays better than nothing while an upstream is down. */
  async function renewed(
    repository: Repository,
    keysPath: string,
    known: Known | undefined,
  ): Promise<ListedKey[] | null> {
    try {
      return await fetched(repository, keysPath)
    } catch (error) {
      const name = nameOf(repository)
      if (!isProblem(error)) kept.delete(name)
      else kept.set(name, { at: deps.clock.now().getTime() + FAILED_MS - FRESH_MS, keys: known?.keys ?? NOTHING })
      if (!isProblem(error)) throw error
      return known?.keys ?? null
    }
  }

  return {
    async of(repository, wanted = []) {
      const { keysPath } = deps.readingOf(repository)
      if (keysPath === undefined) return null
      const name = nameOf(repository)
      const known = kept.get(name)
      const at = deps.clock.now().getTime()
      if (known && at < known.at + FRESH_MS) {
        const keys = await known.keys
        const isLacking = keys !== null && wanted.some((id) => !keys.some(({ keyid }) => keyid === id))
        if (!isLacking || at < known.at + AGAIN_MS) return keys
      }
      const keys = renewed(repository, keysPath, known)
      kept.set(name, { at, keys })
      return keys
    },
  }
}

interface Known {
  /** ms since 1970 */
  at: number
  keys: Promise<ListedKey[] | null>
}

const NOTHING = Promise.resolve(null)
const nameOf = ({ key, upstream_url: url }: Repository): string => `${key} ${url}`

function keysIn(text: string): ListedKey[] | null {
  let read: unknown
  try {
    read = parseJson(text)
  } catch {
    return null
  }
  return isObject(read) ? objectsAt(read, 'keys').slice(0, MOST_KEYS).flatMap(keyIn) : null
}

function keyIn(listed: Json): ListedKey[] {
  const [keyid, keytype, scheme, key] = ['keyid', 'keytype', 'scheme', 'key'].map((name) => stringAt(listed, name))
  if (!keyid || !keytype || !scheme || !key) return []
  // One that ends at a time that cannot be read has ended.
  const isEndless = listed['expires'] === null || listed['expires'] === undefined
  return [
    {
      expires: isEndless ? null : (timeAt(listed, 'expires') ?? new Date(0).toISOString()),
      keyid,
      keytype,
      scheme,
      key,
    },
  ]
}

export const asRegistryKey = ({ keyid, key, expires }: ListedKey): RegistryKey => ({
  ...{ keyid, key },
  expires: expires === null ? null : Date.parse(expires),
})
