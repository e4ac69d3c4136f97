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
  /** Null when the upstream has none, or does not answer. */
  of(repository: Repository): Promise<ListedKey[] | null>
}

const FRESH_MS = 3600_000
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
  const kept = new LRUCache<string, { until: number; keys: Promise<ListedKey[] | null> }>({ max: 1000 })

  async function fetched(repository: Repository, keysPath: string): Promise<ListedKey[] | null> {
    const at = deps.addressOf(repository)
    const text = await deps.client.text(at, `${at.url}/${keysPath}`, MOST_BYTES)
    return text === null ? null : keysIn(text)
  }

  return {
    async of(repository) {
      const { keysPath } = deps.readingOf(repository)
      if (keysPath === undefined) return null
      const name = `${repository.key} ${repository.upstream_url}`
      const known = kept.get(name)
      const now = deps.clock.now().getTime()
      if (known && known.until > now) return known.keys
      const keys = fetched(repository, keysPath).catch((error: unknown) => {
        if (!isProblem(error)) throw error
        // What was known stays better than nothing while an upstream is down.
        kept.set(name, { until: now + FAILED_MS, keys: known?.keys ?? Promise.resolve(null) })
        return known?.keys ?? null
      })
      kept.set(name, { until: now + FRESH_MS, keys })
      return keys
    },
  }
}

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
