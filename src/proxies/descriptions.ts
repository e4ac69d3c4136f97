// Texts beside the files of upstreams that clients read in place of a file, to learn what it needs. They are small, so they are kept in
// memory only; once the file is here, its own text is given.
import { LRUCache } from 'lru-cache'
import { refused } from '../formats/catalog.ts'
import type { Judged, Sought } from '../publish/listing/find-judged.ts'
import { sha256Hex } from '../kernel/crypto.ts'
import type { Repository } from '../registries/repositories.ts'
import type { RegistryAddress, RegistryClient } from '../upstream/registries/registry-client.ts'

export interface Descriptions {
  /** @returns null when there is none @throws Problem('upstream_error', ...), also for another text than the list pins */
  read(repository: Repository, name: string, filename: string): Promise<Buffer | null>
}

const MOST_BYTES = 1024 * 1024
const MOST_KEPT_BYTES = 32 * 1024 * 1024

export function createDescriptions(deps: {
  client: Pick<RegistryClient, 'file'>
  find(repository: Repository, name: string, sought: Sought): Promise<Judged[]>
  addressOf(repository: Repository): RegistryAddress
}): Descriptions {
  /** by repository, place and digest; requests at the same time share one */
  const kept = new LRUCache<string, Promise<Buffer>>({ max: 5000, maxSize: MOST_KEPT_BYTES })

  async function fetched(repository: Repository, { url, sha256 }: { url: string; sha256: string }): Promise<Buffer> {
    const pieces: Uint8Array[] = []
    for await (const piece of await deps.client.file(deps.addressOf(repository), url, MOST_BYTES)) pieces.push(piece)
    const text = Buffer.concat(pieces)
    if (sha256Hex(text) !== sha256) throw refused('malformed', `${new URL(url).host} sent another text than it listed`)
    return text
  }

  return {
    async read(repository, name, filename) {
      const [found] = await deps.find(repository, name, { filename })
      const described = found?.file.described
      if (!described) return null
      const key = `${repository.key} ${described.url} ${described.sha256}`
      const known = kept.get(key)
      if (known) return known
      const text = fetched(repository, described)
      kept.set(key, text, { size: MOST_BYTES })
      text.then(
        ({ byteLength }) => kept.set(key, text, { size: 1024 + byteLength }),
        () => kept.delete(key),
      )
      return text
    },
  }
}
