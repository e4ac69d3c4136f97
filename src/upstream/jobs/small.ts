// Small jobs that read data of upstreams, in a reader.
import { refused, type MirrorList } from '../../formats/catalog.ts'
import { catalogOf } from './catalog-of.ts'

export interface MirrorsArgument {
  type: string
  kind: 'metalink' | 'mirrorlist'
  document: Uint8Array
}

/** @throws Problem('upstream_error') */
export async function mirrors({ type, kind, document }: MirrorsArgument): Promise<MirrorList> {
  const { readMirrors } = catalogOf(type)
  if (!readMirrors) throw refused('malformed', 'the format has no mirror lists')
  return readMirrors(kind, Buffer.from(document).toString('utf8'))
}

/** @returns null where all digests of the format are over the whole file @throws Problem('invalid_package') */
export async function packageDigest({ type, path }: { type: string; path: string }): Promise<string | null> {
  return (await catalogOf(type).packageDigest?.(path)) ?? null
}
