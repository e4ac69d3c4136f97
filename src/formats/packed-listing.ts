// The list of an upstream as it is kept: JSON, compressed. That of a name with 3,500 versions takes 200 KB.
import { gunzipSync, gzipSync } from 'node:zlib'
import { sha256Hex } from '../kernel/crypto.ts'
import type { UpstreamListing } from './registry-format.ts'

export function packListing(listing: UpstreamListing): { packed: Uint8Array; digest: string } {
  const text = JSON.stringify(listing)
  return { packed: gzipSync(text), digest: sha256Hex(text) }
}

export const unpackListing = (packed: Uint8Array): UpstreamListing =>
  JSON.parse(gunzipSync(packed).toString()) as UpstreamListing
