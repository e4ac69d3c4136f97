// Loopback repositories for the tests of this room: a server that can misbehave, keys, and a small apt repository.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as openpgp from 'openpgp'
import { expect } from 'vitest'
import { realReaders } from '../formats/readers/fixture.ts'
import { isProblem, type Problem } from '../domain/problem.ts'
import type { CatalogEntry, UnreadableEntry } from '../formats/catalog.ts'
import { formats } from '../formats/index.ts'
import { createHttpClient } from '../kernel/http-client.ts'
import type { CatalogBatch, CatalogLine } from './jobs/packages.ts'
import type { SeenState, UpstreamDeps, UpstreamSource } from './source.ts'
import { createUpstreams, type Upstream, type Upstreams } from './upstream.ts'

export const NOW = new Date('2026-11-22T12:00:00Z')

export type Files = Record<string, Buffer | string>
/** @returns true when it answered the request itself */
export type Intercept = (request: IncomingMessage, response: ServerResponse, path: string) => boolean

export interface FakeServer {
  url: string
  files: Files
  /** `GET path status` of each request since `log` was last cleared */
  log: string[]
  intercept: Intercept | null
  close(): Promise<void>
}

/** Serves files with entity tags, conditional requests and ranges. */
export async function startServer(files: Files): Promise<FakeServer> {
  const state: FakeServer = { url: '', files, log: [], intercept: null, close: async () => {} }
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '/').slice(1).replace(/\?.*/, ''))
    response.on('close', () =>
      state.log.push(`${path} ${response.statusCode}${request.headers.range ? ` ${request.headers.range}` : ''}`),
    )
    if (state.intercept?.(request, response, path)) return
    const content = state.files[path]
    if (content === undefined) return void response.writeHead(404).end()
    serve(request, response, Buffer.from(content))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  state.close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return state
}

export function serve(request: IncomingMessage, response: ServerResponse, content: Buffer): void {
  const etag = `"${sha256(content).slice(0, 16)}"`
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end()
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? -1)
  if (from < 0 || request.headers['if-range'] !== etag)
    return void response.writeHead(200, { etag, 'content-length': content.length }).end(content)
  response
    .writeHead(206, { etag, 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` })
    .end(content.subarray(from))
}

export const sha256 = (content: Buffer | string) => createHash('sha256').update(content).digest('hex')

export interface TestKey {
  publicKey: string
  fingerprint: string
  /** @param times number of signatures */
  cleartext(text: string, date?: Date, times?: number): Promise<string>
  detached(content: Buffer | string, date?: Date): Promise<string>
}

/** @param lifetime of the key, in seconds */
export async function createKey(lifetime = 0): Promise<TestKey> {
  const created = new Date('2026-01-01T00:00:00Z')
  const { privateKey, publicKey } = await openpgp.generateKey({
    userIDs: [{ name: 'Upstream' }],
    date: created,
    keyExpirationTime: lifetime,
    format: 'object',
  })
  const at = new Date('2026-01-02T00:00:00Z')
  return {
    publicKey: publicKey.armor(),
    fingerprint: publicKey.getFingerprint().toUpperCase(),
    cleartext: async (text, date = at, times = 1) =>
      openpgp.sign({
        message: await openpgp.createCleartextMessage({ text }),
        signingKeys: Array.from({ length: times }, () => privateKey),
        date,
      }),
    detached: async (content, date = at) =>
      openpgp.sign({
        message: await openpgp.createMessage({ binary: Buffer.from(content) }),
        signingKeys: privateKey,
        detached: true,
        date,
      }) as Promise<string>,
  }
}

export interface Bench {
  directory: string
  /** names of files left in the staging directory */
  leftovers(): Promise<string[]>
  upstreams(deps?: Partial<UpstreamDeps>): Upstreams
  open(source: Partial<UpstreamSource>, deps?: Partial<UpstreamDeps>): Promise<Upstream>
  /** requested waits, in milliseconds */
  waits: number[]
  close(): Promise<void>
}

export async function createBench(): Promise<Bench> {
  const directory = await mkdtemp(join(tmpdir(), 'upstream-'))
  const http = createHttpClient({ allowPrivate: true })
  const readers = realReaders(directory)
  const waits: number[] = []
  const create = (deps: Partial<UpstreamDeps>) =>
    createUpstreams({
      http,
      clock: { now: () => NOW },
      formats,
      readers: { quick: readers, slow: readers },
      stagingDirectory: directory,
      importDirectories: [],
      wait: async (ms) => void waits.push(ms),
      ...deps,
    })
  const usual = create({})
  const upstreams = (deps?: Partial<UpstreamDeps>) => (deps ? create(deps) : usual)
  return {
    directory,
    waits,
    leftovers: () => readdir(directory),
    upstreams,
    open: (source, deps) => upstreams(deps).open({ type: 'apt', url: '', keys: [], allowUnsigned: true, ...source }),
    async close() {
      await http.close()
      await readers.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** Checks, stages and reads everything. */
export async function readCatalog(
  upstream: Upstream,
  previous: SeenState | null = null,
): Promise<{ entries: CatalogEntry[]; unreadable: UnreadableEntry[]; seen: SeenState; signedBy: string[] }> {
  const checked = await upstream.check(previous)
  if (checked.state === 'unchanged') throw new Error('the repository is unchanged')
  const staged = await checked.stage()
  const entries: CatalogEntry[] = []
  const unreadable: UnreadableEntry[] = []
  try {
    for await (const batch of staged.packages()) {
      entries.push(...entriesOf(batch))
      unreadable.push(...batch.unreadable)
    }
  } finally {
    await staged.remove()
  }
  return { entries, unreadable, seen: checked.seen, signedBy: checked.signedBy }
}

export function entriesOf({ lines }: Pick<CatalogBatch, 'lines'>): CatalogEntry[] {
  const read = JSON.parse(`[${Buffer.from(lines).toString('utf8')}]`) as CatalogLine[]
  return read.map(({ fingerprint: _fingerprint, ...entry }) => entry)
}

export async function problemOf(work: Promise<unknown>): Promise<Problem> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(isProblem(error), String(error)).toBe(true)
  return error as Problem
}

export interface AptRepository {
  packages: string
  /** additional or replaced fields of the Release; null omits a field */
  release?: Record<string, string | null>
  /** replaces the lines below SHA256 */
  listed?: { path: string; content: Buffer | string; sizeBytes?: number; hex?: string }[]
}

/** The Release of a repository with one Packages.gz, and its files without a signature. */
export function aptFiles({ packages, release = {}, listed }: AptRepository): { release: string; files: Files } {
  const gz = gzipSync(packages)
  const below = 'main/binary-amd64/Packages'
  const lines = (
    listed ?? [
      { path: below, content: packages },
      { path: `${below}.gz`, content: gz },
    ]
  ).map(({ path, content, sizeBytes, hex }) => {
    return ` ${hex ?? sha256(content)} ${sizeBytes ?? Buffer.byteLength(content)} ${path}`
  })
  const fields: Record<string, string | null> = {
    Suite: 'stable',
    Codename: 'test',
    Date: 'Sat, 21 Nov 2026 11:00:00 UTC',
    Architectures: 'amd64',
    Components: 'main',
    ...release,
  }
  const text = [
    ...Object.entries(fields).flatMap(([key, value]) => (value === null ? [] : [`${key}: ${value}`])),
    'SHA256:',
    ...lines,
    '',
  ].join('\n')
  return { release: text, files: { [`dists/test/${below}.gz`]: gz } }
}

export function stanza(fields: Record<string, string | null> = {}): string {
  const all: Record<string, string | null> = {
    Package: 'hello',
    Version: '2.10-3',
    Architecture: 'amd64',
    Maintainer: 'A <a@example.org>',
    Section: 'devel',
    Depends: 'libc6 (>= 2.34), a | b:any',
    Description: 'greets\n in many languages',
    Filename: 'pool/main/h/hello/hello_2.10-3_amd64.deb',
    Size: '7',
    SHA256: sha256('content'),
    ...fields,
  }
  return `${Object.entries(all)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('')}\n`
}
