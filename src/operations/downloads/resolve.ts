// Finds the package file that a logged request was for.
import type { FormatId } from '../../domain/package.ts'
import { isRepository } from '../../domain/repositories.ts'
import type { Offered, PackageFormat } from '../../formats/format.ts'
import { append } from '../../kernel/append.ts'
import type { Db } from '../../store/db.ts'
import type { DownloadedFile } from '../../store/downloads/identified.ts'
import { membersOf, offersOfNames, type OfferedName } from '../../store/downloads/offered-files.ts'

/** A file in a repository of libraries. */
export interface LibraryTarget {
  format: FormatId
  /** key of the repository: its own file, or that of the first member which has it */
  repository: string
  name: string
  filename: string
}

/** A path below the published tree of a format. */
export interface PlacedTarget {
  format: PackageFormat
  /** `jammy/pool/9f/…/hello_1.0_amd64.deb` */
  path: string
}

export interface ResolverDeps {
  db: Db
  /** The path from which the listeners would answer a request; null for targets that they do not publish. */
  place(target: string): PlacedTarget | null
  find(codename: string): Offered | null
  /** The file of a repository that a target names; null for other targets. */
  library(target: string): LibraryTarget | null
}

export interface Resolver {
  /** The files of these targets. A missing target was never offered, or too long ago; `foreign` ones are not below our paths. */
  resolve(
    targets: Iterable<string>,
  ): Promise<{ files: ReadonlyMap<string, DownloadedFile>; foreign: ReadonlySet<string> }>
}

interface Wanted {
  target: string
  format: FormatId
  /** codename, or key of a repository */
  place: string
  filename: string
  isIt(offer: OfferedName): boolean
}

/** Most names of one query. */
const TOGETHER = 1000

/** @returns a resolver for one run over the logs: it keeps what it found, up to `MOST_KEPT` targets */
export function createResolver({ db, place, find, library }: ResolverDeps): Resolver {
  const kept = new Map<string, DownloadedFile>()

  function wantedOf(target: string): Wanted | null {
    const asked = library(target)
    if (asked) {
      const { format, repository, filename } = asked
      return { target, format, place: repository, filename, isIt: ({ name }) => name === asked.name }
    }
    const placed = place(target)
    const segments = placed?.path.split('/') ?? []
    const [codename, filename] = [segments[0], segments.at(-1)]
    const offered = codename === undefined ? null : find(codename)
    if (!placed || !offered || filename === undefined || offered.format.id !== placed.format.id) return null
    const { format, distribution } = offered
    const isIt = (offer: OfferedName) =>
      format.packagePaths(offer, distribution).some((one) => placed.path.endsWith(`/${one}`))
    return { target, format: format.id, place: distribution.codename, filename, isIt }
  }

  return {
    async resolve(targets) {
      const files = new Map<string, DownloadedFile>()
      const foreign = new Set<string>()
      const wanted: Wanted[] = []
      for (const target of targets) {
        const before = kept.get(target)
        if (before) {
          files.set(target, before)
          continue
        }
        const one = wantedOf(target)
        if (one) wanted.push(one)
        else foreign.add(target)
      }
      for (let from = 0; from < wanted.length; from += TOGETHER) {
        const some = wanted.slice(from, from + TOGETHER)
        const members = await membersOf(db, [...new Set(some.map(({ place }) => place).filter(isRepository))])
        const offers = new Map<string, OfferedName[]>()
        for (const offer of await offersOfNames(db, [...new Set(some.map(({ filename }) => filename))]))
          append(offers, offer.filename, offer)
        for (const one of some) {
          const file = fileOf(one, [one.place, ...(members.get(one.place) ?? [])], offers.get(one.filename) ?? [])
          if (!file) continue
          files.set(one.target, file)
          if (kept.size < MOST_KEPT) kept.set(one.target, file)
        }
      }
      return { files, foreign }
    },
  }
}

const MOST_KEPT = 50_000

function fileOf({ format, isIt }: Wanted, places: readonly string[], offers: readonly OfferedName[]) {
  for (const place of places) {
    const found = offers.find((offer) => offer.distribution === place && isIt(offer))
    if (!found) continue
    const { size_bytes: sizeBytes, ...offer } = found
    return { ...offer, format, sizeBytes }
  }
  return null
}
