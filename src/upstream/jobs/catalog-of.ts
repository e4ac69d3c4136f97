// The catalog reader for a type of sources.
import { refused, type CatalogReader } from '../../formats/catalog.ts'
import { formats } from '../../formats/index.ts'

/** @param type the format's name in REPO_FORMAT @throws Problem('upstream_error') */
export function catalogOf(type: string): CatalogReader {
  const reader = formats.find(({ repoFormat }) => repoFormat === type)?.catalog
  if (!reader) throw refused('malformed', `no format reads sources of the type ${type}`)
  return reader
}
