// Repositories of libraries (npm, PyPI), which are made at run time. Each is a place of its own beside the distributions.
import type { Distribution, FormatId } from './package.ts'

/**
 * `hosted` keeps what is published to it; `proxy` gives what an upstream has, through the gate; `group` shows its members under one
 * address.
 */
export const REPOSITORY_KINDS = ['hosted', 'proxy', 'group'] as const
export type RepositoryKind = (typeof REPOSITORY_KINDS)[number]

/** Longest name, without its format. */
export const LONGEST_REPOSITORY_NAME = 64

/** Names are parts of addresses and of directories, and are compared in every letter: so they have no capitals. */
export const REPOSITORY_NAME = `^[a-z0-9][a-z0-9._-]{0,${LONGEST_REPOSITORY_NAME - 1}}$`

export interface RepositoryKey {
  format: FormatId
  name: string
}

/** The key of a repository among the places: `npm/team`. Codenames of distributions have no slash. */
export const repositoryKey = ({ format, name }: RepositoryKey): string => `${format}/${name}`

export const isRepository = (place: string): boolean => place.includes('/')

/** @returns null for a codename, and for a key that no repository can have */
export function readRepositoryKey(place: string): RepositoryKey | null {
  const at = place.indexOf('/')
  const name = place.slice(at + 1)
  return at > 0 && new RegExp(REPOSITORY_NAME).test(name) ? { format: place.slice(0, at), name } : null
}

/** A repository where gate and records expect a distribution. It has no architectures, indexes or systems of its own. */
export function placeOfRepository(key: RepositoryKey): Distribution {
  const codename = repositoryKey(key)
  return {
    codename,
    format: key.format,
    architectures: [],
    component: null,
    scannerDistro: `${key.format}:any`,
    os: '',
    osVersion: '',
    name: codename,
    fullName: codename,
    packageManager: key.format,
  }
}

/** What people said about a version after it was published. */
export interface VersionNote {
  /** npm: the message that an installation prints */
  deprecated?: string
  /** PyPI: installed only by those who ask for exactly this version; the reason may be empty */
  yanked?: string
  /** attestations of files that were verified, as they came, by file name */
  attestations?: Record<string, unknown[]>
  /** PyPI: who published a file, as its attestations say one by one */
  publishers?: Record<string, (Record<string, string> | null)[]>
}
