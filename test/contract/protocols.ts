// Routes of this test only, mounted on a real listener: paths of several segments, bodies as streams, errors of other protocols.
import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import Type, { type TString } from 'typebox'
import type { ListenerTimeouts } from '../../src/api/http/listener.ts'
import { createRateLimiter } from '../../src/api/http/limits.ts'
import type { Protocol } from '../../src/api/http/protocol.ts'
import { route, type Route } from '../../src/api/http/route.ts'
import { createServer } from '../../src/api/server.ts'
import { Problem } from '../../src/domain/problem.ts'
import { stage } from '../../src/intake/receive.ts'
import { createLog } from '../../src/kernel/log.ts'

export const MOST_BYTES = 16 * 1024 * 1024
export const PIECE = Buffer.alloc(64 * 1024, 'p')
export const PIECES = 10_000

/** Errors in JSON, with a name and a password. */
export const npm: Protocol = {
  prefix: '/npm',
  errors: { media: 'application/json', body: ({ code, detail }) => ({ error: detail, code }) },
  challenge: { scheme: 'Basic', parameters: () => ({ realm: 'packages "of" \\ ours' }) },
}
/** Errors in text. */
export const pypi: Protocol = {
  prefix: '/pypi',
  errors: { media: 'text/plain; charset=utf-8', body: ({ detail }, status) => `${status} ${detail}\n` },
  challenge: { scheme: 'Basic', parameters: () => ({ realm: 'pypi' }) },
}
/** Errors in JSON, with a token for the repository of the request. */
export const oci: Protocol = {
  prefix: '/v2',
  errors: {
    media: 'application/vnd.test.errors+json',
    body: ({ code, detail }) => ({ errors: [{ code: code.toUpperCase(), message: detail }] }),
  },
  challenge: {
    scheme: 'Bearer',
    parameters: ({ params }) => ({
      realm: 'https://house.test/v2/token',
      scope: `repository:${(params as { image?: string }).image ?? ''}:pull`,
    }),
  },
}

/** What the handlers observed. */
export interface Seen {
  /** number of pieces of the long answer that were made */
  made: number
  /** resolves when nobody reads the last long answer any more */
  ended: Promise<void>
  /** bytes of a body that the socket had received while its reader waited */
  receivedMeanwhile: number
  /** emits the name of each body that was read, and the result of reading it */
  bodies: EventEmitter
  directory: string
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const common = { tag: 'test', summary: 'a route of this test', answer: null, problems: [], root: true } as const
const text = <const N extends string>(...names: N[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])) as Record<N, TString>)
const echo = (what: string) => async (call: { params: object }) => ({ what, ...call.params })

function pathRoutes(): Route[] {
  const get = { ...common, method: 'GET', access: 'public', limit: 'none' } as const
  const npmGet = { ...get, protocol: npm, flags: { encodedSlashes: true } } as const
  const v2Get = { ...get, protocol: oci } as const
  return [
    route({ ...npmGet, path: '/npm/{repo}/{package+}', params: text('repo', 'package'), handle: echo('package') }),
    route({
      ...npmGet,
      path: '/npm/{repo}/{package+}/-/{file}',
      params: text('repo', 'package', 'file'),
      handle: echo('file'),
    }),
    route({ ...npmGet, path: '/npm/{repo}/-/ping', params: text('repo'), handle: echo('ping') }),
    route({
      ...{ ...common, protocol: npm, method: 'PUT', access: 'uploader+' },
      path: '/npm/{repo}/{package+}',
      params: text('repo', 'package'),
      body: Type.Object({ size: Type.Integer() }),
      handle: echo('put'),
    }),
    route({ ...get, path: '/maven/{repo}/{path+}', params: text('repo', 'path'), handle: echo('maven') }),
    route({
      ...v2Get,
      path: '/v2/{repo}/{image+}/manifests/{reference}',
      params: text('repo', 'image', 'reference'),
      handle: echo('manifest'),
    }),
    route({
      ...{ ...v2Get, access: 'reader+' },
      path: '/v2/{repo}/{image+}/tags/list',
      params: text('repo', 'image'),
      handle: echo('tags'),
    }),
    route({ ...get, limit: 'credentials', path: '/v2/token', protocol: oci, handle: echo('token') }),
    route({ ...get, limit: 'credentials', path: '/npm/{repo}/-/user', protocol: npm, handle: echo('user') }),
    route({ ...get, limit: 'credentials', path: '/pypi/{repo}/simple', protocol: pypi, handle: echo('simple') }),
    route({
      ...{ ...get, access: 'admin', path: '/pypi/{repo}/closed', protocol: pypi },
      handle: echo('closed'),
    }),
  ]
}

function streamRoutes(seen: Seen): Route[] {
  const put = { ...common, method: 'PUT', access: 'public', limit: 'none', protocol: oci } as const
  const stream = { mostBytes: MOST_BYTES, media: ['application/octet-stream'] }
  return [
    route({
      ...{ ...put, method: 'GET', path: '/v2/long', media: ['application/octet-stream'] },
      async handle({ reply }) {
        seen.made = 0
        let end = () => {}
        seen.ended = new Promise((resolve) => (end = resolve))
        async function* pieces() {
          for (; seen.made < PIECES; seen.made++) yield PIECE
        }
        const source = Readable.from(pieces(), { objectMode: false }).on('close', () => end())
        reply.type('application/octet-stream').header('content-length', PIECE.length * PIECES)
        return source
      },
    }),
    route({
      ...{ ...put, path: '/v2/blobs/{name}', params: text('name'), stream },
      async handle({ params, bodyStream }) {
        const path = join(seen.directory, params.name)
        try {
          const { sizeBytes, digests } = await stage(bodyStream(), path, MOST_BYTES * 2)
          await rm(path)
          seen.bodies.emit(params.name, 'whole')
          return { sizeBytes, sha256: digests.sha256 }
        } catch (error) {
          seen.bodies.emit(params.name, error instanceof Problem ? error.detail : String(error))
          throw error
        }
      },
    }),
    route({
      ...{ ...put, path: '/v2/slowly', stream },
      async handle({ bodyStream, raw }) {
        let bytes = 0
        for await (const piece of bodyStream()) {
          if (bytes === 0) {
            await turns(2_000)
            seen.receivedMeanwhile = raw.socket.bytesRead
          }
          bytes += piece.byteLength
        }
        return { bytes }
      },
    }),
    route({
      ...{ ...put, path: '/v2/first-piece', stream },
      async handle({ bodyStream }) {
        for await (const piece of bodyStream()) return { first: String.fromCharCode(piece[0] as number) }
        return { first: null }
      },
    }),
  ]
}

export interface ProtocolServer {
  port: number
  routes: Route[]
  seen: Seen
  /** how often an answer waited for the other replicas */
  waited(): number
  errors: string[]
  close(): Promise<void>
}

export async function startProtocols(timeouts: ListenerTimeouts): Promise<ProtocolServer> {
  const directory = await mkdtemp(join(tmpdir(), 'protocols-'))
  const seen: Seen = { made: 0, ended: Promise.resolve(), receivedMeanwhile: 0, bodies: new EventEmitter(), directory }
  const routes = [...pathRoutes(), ...streamRoutes(seen)]
  const errors: string[] = []
  let waited = 0
  const app = await createServer({
    routes,
    log: createLog('error', { write: (line) => void errors.push(line) }),
    production: false,
    trustedProxies: [],
    corsOrigins: [],
    limiter: createRateLimiter({ now: () => new Date(0) }),
    async authenticate(header) {
      // A password reaches it as a token, if the protocol asks for one.
      if (header !== 'Basic cmVhZGVyOng=' && header !== 'Bearer x')
        throw new Problem('unauthorized', 'a “credential” is needed')
      const who = { kind: 'token', name: 'reader', role: 'reader', ownerId: 1, credentialId: 'c' } as const
      return { ...who, principal: 'token:reader' }
    },
    requireFeature: () => {},
    leads: async () => true,
    hasLeader: async () => true,
    keptAnswers: { begin: async () => ({ state: 'running' }), clean: async () => {} },
    formatOf: () => null,
    accepting: () => true,
    observe: () => {},
    denied: async () => {},
    changesSeen: async () => {
      waited++
    },
    timeouts,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return {
    ...{ port, routes, seen, errors },
    waited: () => waited,
    async close() {
      await app.close()
      await rm(directory, { recursive: true })
    },
  }
}

export const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
export const closed = (socket: NodeJS.EventEmitter) => once(socket, 'close')
