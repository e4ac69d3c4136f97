// /import/resolve: what a package of a source needs.
import { resolve } from '../imports/resolve.ts'
import { resolveIo, rootEntry, sourcesFor } from '../imports/resolve-query.ts'
import { openDistribution, type FormatRegistry } from '../intake/identify.ts'
import type { Db } from '../store/db.ts'
import { getImportResolvePackage } from './import-resolve.contract.ts'
import { handle, type Route } from './route.ts'

const MOST_PACKAGES = 1000
const MOST_MISSING = 200

export function importResolveRoutes({ db, registry }: { db: Db; registry: FormatRegistry }): Route[] {
  return [
    handle(getImportResolvePackage, async ({ params, query }) => {
      const target = openDistribution(registry, query.distribution)
      const { version, arch, source_id: sourceId } = query
      const root = await rootEntry(db, target, { name: params.package, version, arch }, sourceId)
      const sources = await sourcesFor(db, target, [root.source_id])
      const { needed, met, missing, isCut } = await resolve([root], target, resolveIo(db, target, sources))
      const wanted = needed.flatMap(({ candidate, neededBy }) => (neededBy === null ? [] : [{ candidate, neededBy }]))
      const packages = [
        ...wanted.map(({ candidate: { name, version, arch, source_id, size_bytes }, neededBy }) => ({
          ...{ name, version, arch, source_id, size_bytes, already_in_repo: false, needed_by: neededBy },
        })),
        ...met.map(({ name, package: by, neededBy }) => ({
          ...{ name, version: null, arch: null, source_id: null, size_bytes: null },
          ...{ already_in_repo: true, virtual: name !== by, needed_by: neededBy },
        })),
      ]
      return {
        success: missing.length === 0 && !isCut,
        ...{ package: root.name, version: root.version, arch: root.arch, source_id: root.source_id },
        distribution: query.distribution,
        total_deps: packages.length,
        already_in_repo: met.length,
        to_download: wanted.length,
        download_bytes: wanted.reduce((sum, { candidate }) => sum + candidate.size_bytes, 0),
        packages: packages.slice(0, MOST_PACKAGES),
        missing: missing.slice(0, MOST_MISSING).map(({ text, neededBy }) => ({ name: text, needed_by: neededBy })),
        truncated: isCut,
      }
    }),
  ]
}
