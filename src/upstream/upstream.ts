// What this room offers: repositories of others, read and verified before anything in them is believed.
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
// Everything an upstream does wrong is a Problem: `upstream_error` with a `reason`, `checksum_mismatch` for content that is
// not what was listed, `forbidden_target` for an address or directory that must not be read, `storage_full`.
import { refused, type CatalogEntry } from '../formats/catalog.ts'
import { checkRepository, type Checked } from './check.ts'
import { fetchPackage, type FetchedPackage } from './fetch-package.ts'
import { createLocator } from './locate.ts'
import type { SeenState, UpstreamDeps, UpstreamSource } from './source.ts'
import { openTree, type PackageTree } from './tree.ts'
import { createVerifier } from './verifier.ts'

export interface Upstream {
  /**
   * Reads the signed description of the repository.
   * @param previous `seen` of the last check whose packages were stored; null reads everything
   */
  check(previous: SeenState | null): Promise<Checked>
  /**
   * Fetches a package to a new file.
   * @param entry as `packages()` returned it, also from an earlier snapshot
   * @param to removed again when the transfer fails
   */
  fetchPackage(entry: Pick<CatalogEntry, 'path' | 'sizeBytes' | 'digest'>, to: string): Promise<FetchedPackage>
}

export interface Upstreams {
  /**
   * @throws Problem('forbidden_target') for a directory outside the import directories; 'upstream_error' for a type that
   *   no format reads, and for a source without a key that may not be unsigned
   * @param signal stops all transfers, which fail with its reason
   */
  open(source: UpstreamSource, signal?: AbortSignal): Promise<Upstream>
  /** A directory of package files without an index. @param url `file:` @throws Problem('forbidden_target') */
  openTree(url: string): Promise<PackageTree>
}

export function createUpstreams(unbound: UpstreamDeps): Upstreams {
  const verifier = createVerifier()
  return {
    openTree: (url) => openTree(url, unbound),
    async open(source, signal) {
      const deps = signal ? boundTo(unbound, signal) : unbound
      const reader = deps.formats.find(({ repoFormat }) => repoFormat === source.type)?.catalog
      if (!reader) throw refused('malformed', `no format reads sources of the type ${source.type}`)
      if (source.keys.length === 0 && !source.allowUnsigned)
        throw refused('unsigned', 'the source has no key, and is not allowed to be unsigned')
      const locator = await createLocator(source, reader, deps)
      return {
        check: (previous) =>
          locator.tryEach((place) => checkRepository({ source, reader, place, deps, verifier }, previous)),
        fetchPackage: (entry, to) =>
          locator.tryEach(({ transport }) => fetchPackage(transport, reader, entry, to, deps.wait)),
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
