// Asks the registries of others for lists of names and for files.
import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { UpstreamReading } from '../../formats/registry-format.ts'
import { refused } from '../../formats/catalog.ts'
import { askJob } from '../../formats/readers/job.ts'
import type { ReaderPool } from '../../formats/readers/pool.ts'
import { removeFile } from '../../kernel/files.ts'
import type { HttpAnswer, HttpClient } from '../../kernel/http-client.ts'
import type { ListingArgument, ReadListing } from '../jobs/listing.ts'
import { problemOf } from '../problems.ts'

export interface RegistryAddress {
  /** with no slash at its end */
  url: string
  /** the header of this name; null for an upstream that asks for none */
  authorization: string | null
}

export interface RegistryClient {
  /**
   * @param etag of the list that is known
   * @throws Problem('upstream_error', 'forbidden_target' or 'storage_full')
   */
  listing(
    at: RegistryAddress,
    of: { format: string; reading: Pick<UpstreamReading, 'request'>; name: string },
    etag: string | null,
  ): Promise<'missing' | 'unchanged' | (ReadListing & { etag: string | null })>
  /**
   * The bytes of a file. Another host than that of the list gets no credential.
   * @throws Problem('upstream_error' or 'forbidden_target')
   */
  file(at: RegistryAddress, url: string, mostBytes: number): Promise<AsyncIterable<Uint8Array>>
  /**
   * A small text about files, in UTF-8; null when there is none. Another host than that of the list gets no credential.
   * @throws Problem('upstream_error' or 'forbidden_target')
   */
  text(at: RegistryAddress, url: string, mostBytes: number): Promise<string | null>
}

/** The largest packuments have 40 MB. */
const MOST_LISTING_BYTES = 100 * 1024 * 1024
/** A reader takes 20 MB for such a list, and 100 MB for the largest. */
const SMALL_LISTING_BYTES = 4 * 1024 * 1024
const LISTING_MS = 60_000
const IDLE_MS = 20_000
/** A file may take a minute, plus the time of its bytes at 50 KB/s. */
const LEAST_BYTES_PER_MS = 50
const PARSE_MS = 60_000
/** Clients wait for the file that the text is about. */
const TEXT_MS = 8000

export function createRegistryClient(deps: {
  http: Pick<HttpClient, 'open'>
  readers: ReaderPool
  /** a new path that readers may read */
  newPath(): string
}): RegistryClient {
  const { http, readers, newPath } = deps

  async function open(url: string, headers: Record<string, string>, mostBytes: number, timeoutMs: number) {
    try {
      return await http.open(url, { maxBytes: mostBytes, timeoutMs, idleMs: IDLE_MS }, headers)
    } catch (error) {
      throw problemOf(error)
    }
  }

  async function parse(answer: HttpAnswer, argument: Omit<ListingArgument, 'path'>): Promise<ReadListing> {
    const path = newPath()
    try {
      const body = bounded(decoded(answer, argument.url), argument.url)
      await pipeline(Readable.from(body), createWriteStream(path, { flags: 'wx', mode: 0o600 }))
      const isLarge = (await stat(path)).size > SMALL_LISTING_BYTES
      const options = { subject: 'reading the list', replyMs: PARSE_MS, isLarge, isDone: isReadListing }
      return await askJob(readers, 'upstream-listing', { ...argument, path } satisfies ListingArgument, options)
    } catch (error) {
      throw asUpstreamError(problemOf(error))
    } finally {
      await removeFile(path)
    }
  }

  return {
    async listing(at, { format, reading, name }, etag) {
      const { path, accept } = reading.request(name)
      const url = `${at.url}/${path}`
      const headers = { accept, 'accept-encoding': 'gzip', ...conditionOf(etag), ...credentialOf(at) }
      const answer = await open(url, headers, MOST_LISTING_BYTES, LISTING_MS)
      if (answer.status === 304 && etag !== null) return 'unchanged'
      if (answer.status === 404 || answer.status === 410) return 'missing'
      if (answer.status !== 200) throw refusedStatus(url, answer)
      const { etag: stated } = answer.headers
      return {
        ...(await parse(answer, { format, name, url: answer.url })),
        etag: typeof stated === 'string' ? stated : null,
      }
    },
    async text(at, url, mostBytes) {
      const answer = await open(url, headersFor(at, url), mostBytes, TEXT_MS)
      if (answer.status === 404 || answer.status === 410) return null
      if (answer.status !== 200) throw refusedStatus(url, answer)
      const pieces: Uint8Array[] = []
      for await (const piece of plainBody(answer, url)) pieces.push(piece)
      return new TextDecoder().decode(Buffer.concat(pieces))
    },
    async file(at, url, mostBytes) {
      const headers = headersFor(at, url)
      const answer = await open(url, headers, mostBytes, LISTING_MS + Math.ceil(mostBytes / LEAST_BYTES_PER_MS))
      if (answer.status !== 200) throw refusedStatus(url, answer)
      return plainBody(answer, url)
    },
  }
}

const credentialOf = ({ authorization }: RegistryAddress): Record<string, string> =>
  authorization === null ? {} : { authorization }
const headersFor = (at: RegistryAddress, url: string): Record<string, string> => ({
  'accept-encoding': 'identity',
  ...(new URL(url).origin === new URL(at.url).origin ? credentialOf(at) : {}),
})
const conditionOf = (etag: string | null): Record<string, string> => (etag === null ? {} : { 'if-none-match': etag })

function refusedStatus(url: string, answer: HttpAnswer): Error {
  answer.discard()
  return refused('status', `${new URL(url).host} answered ${answer.status}`)
}

/** @throws Problem('upstream_error') for one that is encoded */
function plainBody({ headers, body, discard }: HttpAnswer, url: string): AsyncIterable<Uint8Array> {
  const encoding = String(headers['content-encoding'] ?? 'identity')
  if (encoding === 'identity') return translated(body)
  discard()
  throw refused('malformed', `${new URL(url).host} sent a file in the encoding ${encoding.slice(0, 20)}, unasked`)
}

/** Lists are asked for by gzip, which makes them ten times smaller. */
function decoded({ headers, body, discard }: HttpAnswer, url: string): AsyncIterable<Uint8Array> {
  const encoding = String(headers['content-encoding'] ?? 'identity')
  if (encoding === 'identity') return body
  // `pipe` would leave the reader waiting for ever when the upstream hangs up.
  if (encoding === 'gzip') return Readable.from(body).compose(createGunzip()) as AsyncIterable<Uint8Array>
  discard()
  throw refused('malformed', `${new URL(url).host} sent a list in the encoding ${encoding.slice(0, 20)}, unasked`)
}

async function* bounded(body: AsyncIterable<Uint8Array>, url: string): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.byteLength
    if (bytes > MOST_LISTING_BYTES)
      throw refused('too_large', `${new URL(url).host} sent a list of more than ${MOST_LISTING_BYTES} bytes`)
    yield piece
  }
}

async function* translated(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw problemOf(error)
  }
}

/** What a reader refuses, and gzip that is none, is the fault of the upstream. */
function asUpstreamError(error: unknown): unknown {
  const { code, detail } = error as { code?: unknown; detail?: unknown }
  if (code === 'invalid_package') return refused('malformed', String(detail), error)
  if (typeof code === 'string' && code.startsWith('Z_')) return refused('malformed', 'its list is damaged', error)
  return error
}

function isReadListing(value: unknown): value is ReadListing {
  const { packed, digest, versions } = (value ?? {}) as Partial<ReadListing>
  const areTexts = Array.isArray(versions) && versions.every((one) => typeof one === 'string')
  return packed instanceof Uint8Array && typeof digest === 'string' && areTexts
}
