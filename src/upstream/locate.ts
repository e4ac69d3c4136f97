// Where a source is: one address, a directory, or the mirrors that a list names.
import { isProblem, Problem } from '../domain/problem.ts'
import { refused, type RepositoryRequest } from '../formats/catalog.ts'
import { allowedDirectory, createDirectoryTransport } from './directory-transport.ts'
import { createDocumentTransport, createHttpTransport } from './http-transport.ts'
import type { Reading } from './reading.ts'
import { fetchSmall } from './roots.ts'
import type { UpstreamDeps, UpstreamSource } from './source.ts'
import type { Transport } from './transport.ts'

export interface Location {
  transport: Transport
  /** the metalink's statement about the first file */
  expected: RepositoryRequest['expected']
}

export interface Locator {
  /** Runs the work with the first place; when it fails, with the next mirrors. @throws the error of the first place */
  tryEach<T>(work: (place: Location) => Promise<T>): Promise<T>
}

const MOST_MIRRORS = 5
const MOST_LIST_BYTES = 1024 * 1024

export async function createLocator(source: UpstreamSource, reading: Reading, deps: UpstreamDeps): Promise<Locator> {
  const base = parse(source.url)
  if (base.protocol === 'file:') {
    const directory = await allowedDirectory(base, deps.importDirectories)
    const place = { transport: createDirectoryTransport(directory), expected: null }
    return { tryEach: (work) => work(place) }
  }
  if (!source.mirrors) {
    const place = { transport: createHttpTransport(base.href, deps.http, reading.rules), expected: null }
    return { tryEach: (work) => work(place) }
  }
  const { mirrors } = source
  return {
    async tryEach(work) {
      const places = await mirrorsOf(base, mirrors, reading, deps)
      let first: unknown
      for (const place of places) {
        try {
          return await work(place)
        } catch (error) {
          // After a mirror that is old, gone or has other content, the next one is tried.
          if (!isProblem(error) || error.code === 'storage_full') throw error
          first ??= error
        }
      }
      throw first
    },
  }
}

async function mirrorsOf(
  list: URL,
  kind: 'metalink' | 'mirrorlist',
  reading: Reading,
  { http, stagingDirectory, wait }: Pick<UpstreamDeps, 'http' | 'stagingDirectory' | 'wait'>,
): Promise<Location[]> {
  const document = await fetchSmall(
    createDocumentTransport(list.href, http),
    kind,
    MOST_LIST_BYTES,
    stagingDirectory,
    wait,
  )
  if (!document) throw refused('missing', `${list.host} has no ${kind} at the address of the source`)
  const { bases, expected } = await reading.mirrors(kind, document)
  const places = bases.slice(0, MOST_MIRRORS).map((base) => {
    const { href, protocol } = parse(base)
    if (protocol === 'file:') throw new Problem('forbidden_target', `the ${kind} names a directory`)
    return { transport: createHttpTransport(href, http, reading.rules), expected }
  })
  if (places.length === 0) throw refused('malformed', `the ${kind} names no mirror`)
  return places
}

function parse(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (!parsed || !['http:', 'https:', 'file:'].includes(parsed.protocol))
    throw new Problem('forbidden_target', 'the address of the source is not an http, https or file URL')
  return parsed
}
