// The interface of this room: repositories of others, read and verified before anything in them is trusted.
//
//   const upstream = await createUpstreams(deps).open(source)
//   const checked = await upstream.check(previous)        one conditional request when nothing changed
//   if (checked.state === 'changed') {
//     const staged = await checked.stage()                every index fetched, its size and digest verified
//     try {
//       for await (const batch of staged.packages()) …    an error here means that nothing of it may be kept
//     } finally {
//       await staged.remove()
//     }
//   }
//   Store checked.seen with the packages: it is `previous` of the next check.
//
//   await upstream.fetchPackage(entry, path)              size and digest verified
//
// Every fault of an upstream is a Problem: `upstream_error` with a `reason`, `checksum_mismatch` for content that
// differs from its listing, `forbidden_target` for an address or directory that must not be read, `storage_full`.
import { resolve } from 'node:path'
import { refused, type CatalogEntry } from '../formats/catalog.ts'
import { checkRepository, type Checked } from './check.ts'
import { fetchPackage, type FetchedPackage } from './fetch-package.ts'
import { createLocator } from './locate.ts'
import { createReading } from './reading.ts'
import type { SeenState, UpstreamDeps, UpstreamSource } from './source.ts'
import { openTree, type PackageTree } from './tree.ts'

export interface Upstream {
  /**
   * Reads the signed description of the repository.
   * @param previous `seen` of the last check whose packages were stored; null reads everything
   */
  check(previous: SeenState | null): Promise<Checked>
  /**
   * Fetches a package to a new file below the staging directory, because readers may read nowhere else.
   * @param entry from `packages()`, also of an earlier snapshot
   * @param to removed again when the transfer fails
   */
  fetchPackage(entry: Pick<CatalogEntry, 'path' | 'sizeBytes' | 'digest'>, to: string): Promise<FetchedPackage>
}

export interface Upstreams {
  /**
   * @throws Problem('forbidden_target') for a directory outside the import directories; 'upstream_error' for a type that
   *   no format reads, and for a source without a key where unsigned sources are not allowed
   * @param signal stops all transfers, which fail with its reason
   */
  open(source: UpstreamSource, signal?: AbortSignal): Promise<Upstream>
  /** A directory of package files without an index. @param url `file:` @throws Problem('forbidden_target') */
  openTree(url: string): Promise<PackageTree>
}

export function createUpstreams(given: UpstreamDeps): Upstreams {
  // A reader has another working directory.
  const unbound = { ...given, stagingDirectory: resolve(given.stagingDirectory) }
  return {
    openTree: (url) => openTree(url, unbound),
    async open(source, signal) {
      const deps = signal ? boundTo(unbound, signal) : unbound
      if (!deps.formats.some(({ repoFormat }) => repoFormat === source.type))
        throw refused('malformed', `no format reads sources of the type ${source.type}`)
      if (source.keys.length === 0 && !source.allowUnsigned)
        throw refused(
          'unsigned',
          'the source has no key: set `gpg_key`, or `allow_unsigned` to read it without a signature',
        )
      const reading = createReading(deps.readers, source.type)
      const locator = await createLocator(source, reading, deps)
      return {
        check: (previous) => locator.tryEach((place) => checkRepository({ source, reading, place, deps }, previous)),
        fetchPackage: (entry, to) =>
          locator.tryEach(({ transport }) => fetchPackage(transport, reading, entry, to, deps.wait)),
      }
    },
  }
}

function boundTo(deps: UpstreamDeps, signal: AbortSignal): UpstreamDeps {
  return {
    ...deps,
    http: { open: (url, limits, headers) => deps.http.open(url, { ...limits, signal }, headers) },
    wait: (ms) => deps.wait(ms, signal),
  }
}
