// Inside a reader: reads what a registry lists about a name.
import type { FormatId } from '../../domain/package.ts'
import { registryFormats } from '../../formats/index.ts'
import { packListing } from '../../formats/packed-listing.ts'

export interface ListingArgument {
  format: FormatId
  path: string
  name: string
  /** where it came from */
  url: string
}

export interface ReadListing {
  packed: Uint8Array
  digest: string
  /** each once, oldest first */
  versions: string[]
}

/** @throws Problem('upstream_error') */
export async function readListing({ format, path, name, url }: ListingArgument): Promise<ReadListing> {
  const reading = registryFormats.find(({ id }) => id === format)?.upstream
  if (!reading) throw new Error(`no upstreams of ${format}`)
  const listing = await reading.parse(path, name, url)
  return { ...packListing(listing), versions: [...new Set(listing.files.map(({ version }) => version))] }
}
