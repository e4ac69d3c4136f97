// A repository listener, from which package clients install: its server, its connections and its access log. Answers come from
// published files; never from the database or settings.
import { isProblem } from '../domain/problem.ts'
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { socketAddress, type ClientAddress } from '../kernel/client-address.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { refuse, type Exchange } from './files/answers.ts'
import { accessOf, withoutCredential, type AccessLog } from './access-log.ts'
import { createAccessCheck } from './access/access-check.ts'
import { NO_SIGN_IN, type KnownAccess } from './access/known-access.ts'
import { createConnections, hasBody } from '../kernel/connections.ts'
import type { Mount } from './mounts.ts'
import { createPublishedTree } from './published-tree.ts'
import { createRepresentations, type MemoryLimits } from './representations.ts'
import { createObjectAnswers, type ObjectAnswersDeps } from './object-answers.ts'
import { ACCESS_PATH, createRepositoryAnswers } from './repository-answers.ts'
import { createPairTurns, type PairTurns } from './pair-turns.ts'
import { createSignedPairs } from './signed-pairs.ts'
import { createTraffic, type Traffic } from './traffic.ts'

export interface RepositoryListener {
  /** @returns the port in use, also when `port` is 0 */
  listen(port: number, host: string): Promise<number>
  /** Stops accepting, gives running transfers at most `deadlineMs`, and closes the access log. */
  close(deadlineMs: number): Promise<void>
}

/** In ms. */
export interface ListenerTimeouts {
  /** from the first byte of a request to the end of its header */
  header: number
  /** from the first byte of a request to its end */
  request: number
  /** how often the two above are checked */
  check: number
  /** a connection waits this long for its next request */
  keepAlive: number
  /** longest time in which the client of a transfer reads no byte; slow readers are allowed */
  stalled: number
}

export interface RepositoryListenerDeps {
  /** `REPOS_DIR`; need not exist yet */
  reposDir: string
  mounts: readonly Mount[]
  /** closed with the listener */
  accessLog: AccessLog
  clock: Clock
  log: Log
  /** determines the client for the access log; by default the peer itself */
  clientAddress?: ClientAddress
  /** The set-up text for a request; null for requests of files. */
  setup?(request: IncomingMessage): string | null
  /** shared by all processes of this listener; by default separate, for a single process */
  pairTurns?: PairTurns
  /** the object store, for packages that the tree names by a link to an object */
  objects?: ObjectAnswersDeps | null
  /** who may read private places; by default every place is public */
  signIn?: SignIn
  /** its counters; left out where nobody reads them */
  traffic?: Traffic
  memory?: MemoryLimits
  timeouts?: ListenerTimeouts
}

export interface SignIn {
  known: KnownAccess
  /** as of `AccessCheckDeps` */
  declared: ReadonlySet<string>
  certificateHeader: string | null
  trusts(address: string): boolean
}

const PUBLIC: SignIn = { known: NO_SIGN_IN, declared: new Set(), certificateHeader: null, trusts: () => false }

const MEBIBYTE = 1024 * 1024
export const DEFAULT_MEMORY: MemoryLimits = { totalBytes: 64 * MEBIBYTE, fileBytes: 4 * MEBIBYTE }
// Longer than the 60 s of common load balancers, so that they close first and never send into a closing connection.
const TIMEOUTS: ListenerTimeouts = {
  header: 20_000,
  request: 30_000,
  check: 5_000,
  keepAlive: 65_000,
  stalled: 120_000,
}
/** Connections that are not accepted yet: a fleet of machines that updates every full minute connects at the same time. */
const BACKLOG = 4096

export function createRepositoryListener(deps: RepositoryListenerDeps): RepositoryListener {
  const {
    reposDir,
    mounts,
    accessLog,
    clock,
    log,
    clientAddress = socketAddress,
    setup = () => null,
    signIn = PUBLIC,
    traffic = createTraffic(),
    memory = DEFAULT_MEMORY,
    timeouts = TIMEOUTS,
  } = deps
  const tree = createPublishedTree(
    reposDir,
    (file, real) => log.warn({ path: file.path, real }, 'a link leads out of the published files, or to private ones'),
    signIn.known.isPrivate,
  )
  const access = createAccessCheck({ ...signIn, tree, clock, clientAddress })
  const representations = createRepresentations(tree, memory, (error) =>
    log.error({ err: error }, 'a published file could not be closed'),
  )
  const pairs = createSignedPairs(reposDir, deps.pairTurns ?? createPairTurns(clock), tree.inTime)
  const objects = deps.objects ? createObjectAnswers(deps.objects) : null
  const answer = createRepositoryAnswers({ mounts, clock, tree, representations, pairs, access, objects, setup })
  const server = createServer({
    headersTimeout: timeouts.header,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.check,
    keepAliveTimeout: timeouts.keepAlive,
    keepAlive: true,
  })
  server.timeout = timeouts.stalled

  const serve = (request: IncomingMessage, response: ServerResponse): (() => void) => {
    const exchange: Exchange = { request, response, progress: { bytes: 0, lastBytes: 0 } }
    const address = clientAddress(request.socket.remoteAddress, request.headers['x-forwarded-for'])
    // Bodies have no meaning here: the connection is closed after the response, and the body is not read.
    if (hasBody(request)) response.setHeader('Connection', 'close')
    try {
      const answered = answer(exchange)
      if (answered) answered.catch((error: unknown) => fail(exchange, error))
    } catch (error) {
      fail(exchange, error)
    }
    traffic.begin()
    return () => record(exchange, address)
  }

  const record = (exchange: Exchange, address: string): void => {
    const access = accessOf(exchange, address)
    traffic.end(access.status, access.bytes)
    // The proxy that asks logs the request itself.
    if (exchange.request.url !== ACCESS_PATH) accessLog.record(access)
  }

  const fail = (exchange: Exchange, error: unknown): void => {
    if (isProblem(error, 'storage_unavailable') && !exchange.response.headersSent) {
      log.warn({ request: withoutCredential(exchange.request.url ?? '') }, error.detail)
      refuse(exchange, 503, ['Retry-After', String(error.retryAfterSeconds)])
      return
    }
    const code = (error as NodeJS.ErrnoException | undefined)?.code
    log.error(
      { err: error, request: withoutCredential(exchange.request.url ?? '') },
      'a published file could not be sent',
    )
    // Once the header is sent, only a broken connection shows the client that the body is incomplete.
    if (exchange.response.headersSent) exchange.response.destroy()
    else if (code === 'EMFILE' || code === 'ENFILE') {
      traffic.refuse()
      refuse(exchange, 503, ['Retry-After', '1'])
    } else refuse(exchange, 500)
  }

  const connections = createConnections(server, serve, undefined, traffic.refuse)
  server.on('request', connections.admit)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // No error text may be mixed into a running response or written to a broken connection.
    if (error.code === 'ECONNRESET' || !socket.writable || connections.isBusy(socket)) return socket.destroy()
    const status = UNREADABLE[error.code ?? ''] ?? 400
    const text = `${STATUS_CODES[status]?.toLowerCase()}\n`
    traffic.unreadable(status, text.length)
    accessLog.record({
      address: socketAddress(socket.remoteAddress),
      request: '',
      status,
      bytes: text.length,
      referer: '',
      userAgent: '',
    })
    const header = `Connection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${text.length}`
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${header}\r\n\r\n${text}`)
  })

  return {
    listen: (port, host) => listen(server, port, host),
    async close(deadlineMs) {
      await connections.drain(deadlineMs)
      representations.close()
      await accessLog.close()
    },
  }
}

/** Status for requests that Node could not parse, by its error code; 400 for all others. */
const UNREADABLE: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
}
