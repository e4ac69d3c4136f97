// Fetches one entry of a catalog into staging and hands it to the intake.
import { isProblem, Problem } from '../domain/problem.ts'
import type { Listing, Source } from '../packages/arrival.ts'
import { tooLarge } from '../intake/receive.ts'
import { removeFile } from '../kernel/files.ts'
import type { CatalogRow, SourceRow } from '../store/tables.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** An entry of a catalog, and its source. */
export interface Listed {
  source: SourceRow
  entry: CatalogRow
}

export function listingOf({ source, entry }: Listed): Listing {
  const { name, version, arch } = entry
  const isVerified = source.keys.length === 0 || source.signed_by.length > 0
  const signers = isVerified ? null : source.keys.map(({ text }) => text)
  return { sourceId: source.id, package: name, version, arch, signers }
}

/**
 * The entry as a source of the intake. It is fetched when the intake asks for it.
 * @param newPath a new path in staging
 * @throws (on delivery) Problem('upstream_error'), also when the bytes differ from those listed
 */
export function sourceOf(
  listed: Listed,
  distribution: string,
  open: () => Promise<Pick<Upstream, 'fetchPackage'>>,
  newPath: () => string,
): Source {
  const { entry } = listed
  return {
    listing: listingOf(listed),
    sizeBytes: entry.size_bytes,
    async deliver(to) {
      to.target(distribution)
      if (entry.size_bytes > to.mostBytes) throw tooLarge(to.mostBytes)
      const { path: from, size_bytes: sizeBytes, digest_algorithm: algorithm, digest: hex } = entry
      const upstream = await open()
      const fetched = await upstream
        .fetchPackage({ path: from, sizeBytes, digest: { algorithm, hex } }, newPath())
        .catch(otherBytes)
      try {
        await to.adopt(fetched)
      } finally {
        await removeFile(fetched.path)
      }
      return { declaredSha256: fetched.sha256 }
    },
  }
}

/** The digest is from the catalog, not from a caller: the upstream serves other bytes than it lists. */
function otherBytes(error: unknown): never {
  if (!isProblem(error, 'checksum_mismatch')) throw error
  throw new Problem('upstream_error', error.detail, { ...error.extra, reason: 'checksum_mismatch' })
}
