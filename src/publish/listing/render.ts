// Renders what clients read about a name. Pure, so that a reader can do it for large names.
import type { FormatId } from '../../domain/package.ts'
import type { Listing, RegistryFormat } from '../../formats/registry-format.ts'
import { encodeListing, type PublishedListing } from '../../store/files/listing-files.ts'
import { mergeListing, type Merged, type UpstreamState } from './upstream-listing.ts'

export interface RenderArgument {
  format: FormatId
  revision: number
  /** the records of the name, its tags and notes */
  local: Listing
  /** of a name in a proxy; null in other repositories, and when the upstream does not have it */
  upstream: UpstreamState | null
}

export interface Rendered {
  /** the content of its file in pieces; null when there is nothing to show */
  content: readonly Uint8Array[] | null
  /** when it shows something else without anybody's doing */
  nextChangeAt: Date | null
}

export function renderListing(format: RegistryFormat, { revision, local, upstream }: RenderArgument): Rendered {
  const merged: Merged = upstream
    ? mergeListing(format, local, upstream, local.modifiedAt)
    : { listing: local, nextChangeAt: null }
  const { listing, nextChangeAt } = merged
  if (listing.files.length === 0) return { content: null, nextChangeAt }
  return { content: encodeListing(publishedOf(format, revision, listing)), nextChangeAt }
}

function publishedOf(format: RegistryFormat, revision: number, listing: Listing): PublishedListing {
  return {
    name: listing.name,
    revision,
    format: format.id,
    modifiedAt: listing.modifiedAt.getTime(),
    files: Object.fromEntries(
      listing.files.map(({ filename, digests, sizeBytes, version, arch, held, url }) => [
        filename,
        { sha256: url === undefined ? digests.sha256! : null, sizeBytes, version, arch, held: held?.reason ?? null },
      ]),
    ),
    documents: Array.from(format.documents(listing), ({ form, media, text }) => ({
      ...{ form, media },
      bytes: Buffer.from(text),
    })),
  }
}
