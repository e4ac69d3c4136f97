// Finds the package file that a logged request was for.
import type { Offered, PackageFormat } from '../../formats/format.ts'
import { append } from '../../kernel/append.ts'
import type { Db } from '../../store/db.ts'
import type { DownloadedFile } from '../../store/downloads/identified.ts'
import { offersOfNames, type OfferedName } from '../../store/downloads/offered-files.ts'

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
}

export interface Resolver {
  /** The files of these targets. A missing target was never offered, or too long ago; `foreign` ones are not below our paths. */
  resolve(
    targets: Iterable<string>,
  ): Promise<{ files: ReadonlyMap<string, DownloadedFile>; foreign: ReadonlySet<string> }>
}

interface Wanted {
  target: string
  distribution: Offered
  path: string
  filename: string
}

/** Most names of one query. */
const TOGETHER = 1000

/** @returns a resolver for one run over the logs: it keeps what it found, up to `MOST_KEPT` targets */
export function createResolver({ db, place, find }: ResolverDeps): Resolver {
  const kept = new Map<string, DownloadedFile>()

  function wantedOf(target: string): Wanted | null {
    const placed = place(target)
    const segments = placed?.path.split('/') ?? []
    const [codename, filename] = [segments[0], segments.at(-1)]
    const distribution = codename === undefined ? null : find(codename)
    if (!placed || !distribution || filename === undefined || distribution.format.id !== placed.format.id) return null
    return { target, distribution, path: placed.path, filename }
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
        const offers = new Map<string, OfferedName[]>()
        for (const offer of await offersOfNames(db, [...new Set(some.map(({ filename }) => filename))]))
          append(offers, offer.filename, offer)
        for (const one of some) {
          const file = fileOf(one, offers.get(one.filename) ?? [])
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

function fileOf({ distribution: { format, distribution }, path }: Wanted, offers: readonly OfferedName[]) {
  for (const { size_bytes, ...offer } of offers) {
    if (offer.distribution !== distribution.codename) continue
    const paths = format.packagePaths(offer, distribution)
    if (paths.some((one) => path.endsWith(`/${one}`))) return { ...offer, format: format.id, sizeBytes: size_bytes }
  }
  return null
}
