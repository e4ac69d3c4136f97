// Maps URL prefixes of a repository listener to published places. Clients can reach nothing else.
import type { PackageFormat } from '../formats/format.ts'
import type { ListenerId, ServedPlace } from '../formats/serving.ts'

export interface Mount extends ServedPlace {
  /** the format of the packages below a directory; null for a key */
  format: PackageFormat | null
}

/**
 * The keys of all formats, and the trees of the active ones: a tree may still exist although its format is no longer active.
 * @param formats all formats
 */
export function mountsOf(
  listener: ListenerId,
  formats: readonly PackageFormat[],
  active: readonly PackageFormat[],
): Mount[] {
  const here = formats.filter(({ serving }) => serving.listener === listener)
  const keys = here.map(({ serving }): Mount => ({ ...serving.key, format: null }))
  const trees = here
    .filter((format) => active.includes(format))
    .map((format): Mount => ({ ...format.serving.tree, format }))
  return [...keys, ...trees]
}
