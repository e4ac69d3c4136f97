// All package formats, one line each.
import type { FormatId } from '../domain/package.ts'
import { apkFormat } from './apk/index.ts'
import { debFormat } from './deb/index.ts'
import { npmFormat } from './npm/index.ts'
import type { Offered, PackageFormat } from './format.ts'
import type { IntakeFormat, Placed } from './intake-format.ts'
import type { RegistryFormat } from './registry-format.ts'
import { placeOfRepository, readRepositoryKey } from '../domain/repositories.ts'
import { rpmFormat } from './rpm/index.ts'

export const formats: readonly PackageFormat[] = [debFormat, rpmFormat, apkFormat]

export const FORMATS: readonly FormatId[] = formats.map(({ id }) => id)

/** The formats of libraries. */
export const registryFormats: readonly RegistryFormat[] = [npmFormat]

/** The ids of all formats. */
export const ECOSYSTEMS: readonly FormatId[] = [...FORMATS, ...registryFormats.map(({ id }) => id)]

/** The format of packages or libraries. @throws Error for an id of no format, which is a bug */
export function intakeFormatOf(id: string): IntakeFormat {
  return registryFormats.find((format) => format.id === id) ?? formatOf(id)
}

/** The repository with this key, whether it exists or not; null for a codename, and for a key that none can have. */
export function findRepository(
  place: string,
  among: readonly RegistryFormat[] = registryFormats,
): Placed<RegistryFormat> | null {
  const key = readRepositoryKey(place)
  const format = among.find(({ id }) => id === key?.format)
  return key && format ? { format, distribution: placeOfRepository(key) } : null
}

/** @throws Error for an id of no format, which is a bug */
export function formatOf(id: string): PackageFormat {
  const format = formats.find((candidate) => candidate.id === id)
  if (!format) throw new Error(`no format ${id}`)
  return format
}

/** The format of a file by its first bytes (4 KiB, or all of it); null for a file of another kind. */
export function recognize(head: Uint8Array, among = formats): PackageFormat | null {
  return among.find((format) => format.recognizes(head)) ?? null
}

/** The formats that these words of REPO_FORMAT enable, in the order of the list above. */
export function switchedOn(words: readonly string[]): PackageFormat[] {
  return formats.filter((format) => words.includes(format.repoFormat))
}

/** The default distribution of a codename with its format; null for an unknown codename. */
export function findDistribution(codename: string, among = formats): Offered | null {
  for (const format of among) {
    const distribution = format.distributions.find((candidate) => candidate.codename === codename)
    if (distribution) return { distribution, format }
  }
  return null
}
