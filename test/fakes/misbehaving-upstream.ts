// Upstreams that misbehave, as a table: what each sends instead of a file, and how reading it must end.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { selfSigned } from './certificate.ts'

/** Answers one request for the file. The connection is the client's, in its current state. */
type Answer = (connection: Socket, file: Buffer, raw: Socket) => void

export interface Misbehaviour {
  name: string
  answer: Answer
  /** `done`, or the code of the problem */
  ends: 'done' | 'upstream_error' | 'forbidden_target'
  /** it may end as `upstream_error` as well */
  mayFail?: true
  /** the end of a sync, which distinguishes wrong bytes from an upstream that fails */
  syncEnds?: 'checksum_mismatch'
  /** over TLS, with a certificate that the client trusts */
  tls?: boolean
  /** what happens instead of a TLS handshake, once the file is requested */
  handshake?: 'cut off' | 'plain' | 'never' | 'untrusted'
}

const CRLF = '\r\n'
const head = (...lines: string[]) => `${lines.join(CRLF)}${CRLF}${CRLF}`
const ok = (...lines: string[]) => head('HTTP/1.1 200 OK', ...lines)
const lengthOf = (file: Buffer) => `Content-Length: ${file.length}`
const whole = (file: Buffer, ...lines: string[]) => Buffer.concat([Buffer.from(ok(lengthOf(file), ...lines)), file])
const half = (file: Buffer) => file.subarray(0, file.length / 2)
const chunk = (bytes: Buffer, extension = '') =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}${extension}${CRLF}`), bytes, Buffer.from(CRLF)])

/** Writes the same bytes again and again until the client disconnects. */
function forever(connection: Socket, bytes: string): void {
  const more = () => {
    if (!connection.destroyed)
      connection.write(bytes, (error) => {
        if (!error) setImmediate(more)
      })
  }
  more()
}

/** Writes a byte from time to time. */
function trickle(connection: Socket, bytes: string): void {
  const timer = setInterval(() => connection.write(bytes), 20)
  connection.once('close', () => clearInterval(timer))
}

const answer =
  (text: string): Answer =>
  (connection) =>
    void connection.write(text)
const answerAndEnd =
  (text: string): Answer =>
  (connection) =>
    void connection.end(text)

export const MISBEHAVIOURS: readonly Misbehaviour[] = [
  // Connections that end.
  { name: 'closes before it answers', ends: 'upstream_error', answer: (connection) => connection.end() },
  { name: 'resets before it answers', ends: 'upstream_error', answer: (_, __, raw) => raw.resetAndDestroy() },
  {
    name: 'closes in the header',
    ends: 'upstream_error',
    answer: answerAndEnd(`HTTP/1.1 200 OK${CRLF}Content-Le`),
  },
  {
    name: 'closes in the body',
    ends: 'upstream_error',
    answer: (connection, file) => connection.end(Buffer.concat([Buffer.from(ok(lengthOf(file))), half(file)])),
  },
  {
    name: 'resets in the body',
    ends: 'upstream_error',
    answer(connection, file, raw) {
      connection.write(Buffer.concat([Buffer.from(ok(lengthOf(file))), half(file)]), () => raw.resetAndDestroy())
    },
  },
  {
    name: 'sends everything and its end at once',
    ends: 'done',
    answer: (connection, file) => connection.end(whole(file, 'Connection: close')),
  },
  {
    name: 'sends everything and its end at once, without a length',
    ends: 'done',
    answer: (connection, file) => connection.end(Buffer.concat([Buffer.from(ok('Connection: close')), file])),
  },
  {
    name: 'has no keep-alive (nginx with keepalive_timeout 0)',
    ends: 'done',
    answer(connection, file) {
      connection.write(ok(lengthOf(file), 'Connection: close'))
      connection.write(file, () => connection.end())
    },
  },
  {
    name: 'closes after the answer without saying so',
    ends: 'done',
    answer: (connection, file) => connection.end(whole(file)),
  },
  {
    name: 'speaks HTTP/1.0',
    ends: 'done',
    answer: (connection, file) =>
      connection.end(Buffer.concat([Buffer.from(head('HTTP/1.0 200 OK', lengthOf(file))), file])),
  },
  {
    name: 'speaks HTTP/1.0 without a length',
    ends: 'done',
    answer: (connection, file) => connection.end(Buffer.concat([Buffer.from(head('HTTP/1.0 200 OK')), file])),
  },
  { name: 'accepts and never answers', ends: 'upstream_error', answer: () => {} },
  {
    name: 'begins the body and never goes on',
    ends: 'upstream_error',
    answer: (connection, file) => connection.write(Buffer.concat([Buffer.from(ok(lengthOf(file))), half(file)])),
  },

  // Headers.
  {
    name: 'sends headers without end',
    ends: 'upstream_error',
    answer(connection) {
      connection.write(`HTTP/1.1 200 OK${CRLF}`)
      forever(connection, `X: ${'y'.repeat(1000)}${CRLF}`.repeat(10))
    },
  },
  {
    name: 'sends a header line without end',
    ends: 'upstream_error',
    answer(connection) {
      connection.write(`HTTP/1.1 200 OK${CRLF}X: `)
      forever(connection, 'y'.repeat(10_000))
    },
  },
  {
    name: 'sends its header a byte at a time, without end',
    ends: 'upstream_error',
    answer(connection) {
      connection.write(`HTTP/1.1 200 OK${CRLF}X: `)
      trickle(connection, 'y')
    },
  },
  { name: 'answers what is no HTTP', ends: 'upstream_error', answer: answer('SSH-2.0-OpenSSH_9.2p1\r\n\r\n') },
  { name: 'answers with a status that is none', ends: 'upstream_error', answer: answer(head('HTTP/1.1 abc OK')) },
  {
    name: 'answers with the status 999',
    ends: 'upstream_error',
    answer: answer(head('HTTP/1.1 999 Odd', 'Content-Length: 0')),
  },
  {
    name: 'sends NUL in a header',
    ends: 'upstream_error',
    answer: (connection, file) => connection.write(whole(file, 'X: a\0b')),
  },

  // Lengths.
  {
    name: 'announces fewer bytes than it sends',
    ends: 'upstream_error',
    syncEnds: 'checksum_mismatch',
    answer: (connection, file) =>
      connection.write(Buffer.concat([Buffer.from(ok(`Content-Length: ${file.length - 10}`)), file])),
  },
  {
    name: 'announces more bytes than it sends, and closes',
    ends: 'upstream_error',
    syncEnds: 'checksum_mismatch',
    answer: (connection, file) =>
      connection.end(Buffer.concat([Buffer.from(ok(`Content-Length: ${file.length + 10}`)), file])),
  },
  {
    name: 'announces more bytes than it sends, and waits',
    ends: 'upstream_error',
    syncEnds: 'checksum_mismatch',
    answer: (connection, file) =>
      connection.write(Buffer.concat([Buffer.from(ok(`Content-Length: ${file.length + 10}`)), file])),
  },
  {
    name: 'announces two lengths',
    ends: 'upstream_error',
    answer: (connection, file) => connection.write(whole(file, 'Content-Length: 1')),
  },
  { name: 'announces a negative length', ends: 'upstream_error', answer: answer(ok('Content-Length: -1')) },
  {
    name: 'announces more than a number holds',
    ends: 'upstream_error',
    answer: answer(ok(`Content-Length: ${'9'.repeat(40)}`)),
  },
  {
    name: 'announces a length and chunks',
    ends: 'upstream_error',
    answer: (connection, file) =>
      connection.write(
        Buffer.concat([
          Buffer.from(ok(lengthOf(file), 'Transfer-Encoding: chunked')),
          chunk(file),
          Buffer.from('0\r\n\r\n'),
        ]),
      ),
  },

  // Chunks.
  {
    name: 'sends trailers',
    ends: 'done',
    answer: (connection, file) =>
      connection.write(
        Buffer.concat([
          Buffer.from(ok('Transfer-Encoding: chunked', 'Trailer: X')),
          chunk(half(file)),
          chunk(file.subarray(half(file).length)),
          Buffer.from('0\r\nX: y\r\n\r\n'),
        ]),
      ),
  },
  {
    name: 'sends trailers without end',
    ends: 'upstream_error',
    answer(connection, file) {
      connection.write(Buffer.concat([Buffer.from(ok('Transfer-Encoding: chunked')), chunk(file)]))
      connection.write('0\r\n')
      forever(connection, `X: ${'y'.repeat(1000)}${CRLF}`.repeat(10))
    },
  },
  {
    name: 'sends a chunk of a size that is none',
    ends: 'upstream_error',
    answer: answer(ok('Transfer-Encoding: chunked') + 'zz\r\nabc\r\n'),
  },
  {
    name: 'sends a chunk of more than a number holds',
    ends: 'upstream_error',
    answer: answer(`${ok('Transfer-Encoding: chunked')}${'f'.repeat(40)}${CRLF}`),
  },
  {
    name: 'never sends the last chunk, and closes',
    ends: 'upstream_error',
    answer: (connection, file) =>
      connection.end(Buffer.concat([Buffer.from(ok('Transfer-Encoding: chunked')), chunk(file)])),
  },
  {
    name: 'extends each chunk',
    ends: 'done',
    answer(connection, file) {
      const bytes = [...half(file).subarray(0, 50)].map((byte) => chunk(Buffer.from([byte]), ';a="b"'))
      const rest = chunk(file.subarray(bytes.length))
      connection.write(
        Buffer.concat([Buffer.from(ok('Transfer-Encoding: chunked')), ...bytes, rest, Buffer.from('0\r\n\r\n')]),
      )
    },
  },
  {
    name: 'extends a chunk without end',
    ends: 'upstream_error',
    answer(connection) {
      connection.write(`${ok('Transfer-Encoding: chunked')}1;`)
      forever(connection, 'y'.repeat(10_000))
    },
  },

  // Interim answers.
  {
    name: 'sends 10,000 early hints first',
    ends: 'done',
    answer(connection, file) {
      connection.write(head('HTTP/1.1 103 Early Hints', 'Link: </x>').repeat(10_000))
      connection.write(whole(file))
    },
  },
  {
    name: 'sends early hints without end',
    ends: 'upstream_error',
    answer: (connection) => forever(connection, head('HTTP/1.1 103 Early Hints', 'Link: </x>').repeat(100)),
  },
  {
    name: 'sends 10,000 times 100 Continue that nobody asked for',
    ends: 'upstream_error',
    answer(connection, file) {
      connection.write(head('HTTP/1.1 100 Continue').repeat(10_000))
      connection.write(whole(file))
    },
  },
  {
    name: 'switches to a protocol that nobody asked for',
    ends: 'upstream_error',
    answer: answer(head('HTTP/1.1 101 Switching Protocols', 'Upgrade: x', 'Connection: Upgrade') + 'bytes'),
  },

  // Rates.
  {
    name: 'sends its body more slowly than is allowed',
    ends: 'upstream_error',
    answer(connection, file) {
      connection.write(ok(lengthOf(file)))
      trickle(connection, 'y')
    },
  },

  // Redirects.
  {
    name: 'redirects in a circle',
    ends: 'upstream_error',
    answer: answer(head('HTTP/1.1 302 Found', 'Location: ?again', 'Content-Length: 0')),
  },
  {
    name: 'redirects to a metadata service',
    ends: 'forbidden_target',
    answer: answer(head('HTTP/1.1 302 Found', 'Location: http://169.254.169.254/latest', 'Content-Length: 0')),
  },
  {
    name: 'redirects to an address that is none',
    ends: 'upstream_error',
    answer: answer(head('HTTP/1.1 302 Found', 'Location: http://[', 'Content-Length: 0')),
  },
  {
    name: 'redirects with a body without end',
    ends: 'upstream_error',
    answer(connection) {
      connection.write(head('HTTP/1.1 302 Found', 'Location: ?again', 'Transfer-Encoding: chunked'))
      forever(connection, chunk(Buffer.alloc(1000)).toString('latin1'))
    },
  },

  // Answers that belong to nothing.
  {
    name: 'sends bytes after its answer',
    ends: 'done',
    answer: (connection, file) => connection.write(Buffer.concat([whole(file), Buffer.from('garbage\r\n\r\n')])),
  },
  {
    name: 'sends a second answer after its first',
    ends: 'done',
    answer: (connection, file) => connection.write(Buffer.concat([whole(file), whole(Buffer.from('another'))])),
  },
  {
    name: 'gives 204 a body',
    ends: 'upstream_error',
    answer: (connection, file) =>
      connection.write(Buffer.concat([Buffer.from(head('HTTP/1.1 204 No Content', lengthOf(file))), file])),
  },
  {
    name: 'answers 206 to what asked for no range',
    ends: 'upstream_error',
    answer: (connection, file) =>
      connection.write(
        Buffer.concat([
          Buffer.from(
            head(
              'HTTP/1.1 206 Partial Content',
              lengthOf(file),
              `Content-Range: bytes 0-${file.length - 1}/${file.length}`,
            ),
          ),
          file,
        ]),
      ),
  },
  {
    name: 'answers 304 to what had no condition',
    ends: 'upstream_error',
    answer: answer(head('HTTP/1.1 304 Not Modified', 'ETag: "x"')),
  },
  {
    name: 'says that its answer is compressed, which it is not',
    ends: 'done',
    answer: (connection, file) => connection.write(whole(file, 'Content-Encoding: gzip')),
  },

  // TLS.
  {
    name: 'cuts TLS off in the body',
    ends: 'upstream_error',
    tls: true,
    answer(connection, file, raw) {
      connection.write(Buffer.concat([Buffer.from(ok(lengthOf(file))), half(file)]), () => raw.destroy())
    },
  },
  {
    name: 'cuts TLS off in a body without a length',
    ends: 'upstream_error',
    syncEnds: 'checksum_mismatch',
    tls: true,
    answer(connection, file, raw) {
      connection.write(Buffer.concat([Buffer.from(ok('Connection: close')), half(file)]), () => raw.destroy())
    },
  },
  {
    // A transfer without the end of TLS may be incomplete (RFC 8446, section 6.1). The result depends on whether the end is seen
    // before the last bytes were read (2 of 6 runs at a load of 7).
    name: 'cuts TLS off after the answer',
    ends: 'done',
    mayFail: true,
    tls: true,
    answer: (connection, file, raw) => void connection.write(whole(file), () => raw.end()),
  },
  { name: 'cuts TLS off in the handshake', ends: 'upstream_error', tls: true, handshake: 'cut off', answer: () => {} },
  { name: 'never ends the TLS handshake', ends: 'upstream_error', tls: true, handshake: 'never', answer: () => {} },
  {
    name: 'answers without TLS where TLS is asked for',
    ends: 'upstream_error',
    tls: true,
    handshake: 'plain',
    answer: () => {},
  },
  {
    name: 'has a certificate that nobody trusts',
    ends: 'upstream_error',
    tls: true,
    handshake: 'untrusted',
    answer: () => {},
  },
  {
    name: 'redirects from https to http',
    ends: 'forbidden_target',
    tls: true,
    answer: answer(head('HTTP/1.1 302 Found', 'Location: http://localhost/', 'Content-Length: 0')),
  },
]

export interface MisbehavingUpstream {
  url: string
  files: Record<string, Buffer | string>
  /** the misbehaviour applies to requests whose path matches; null answers all requests correctly */
  target: RegExp | null
  /** number of open connections */
  readonly open: number
  close(): Promise<void>
}

const trusted = selfSigned('localhost')
/** The certificate that the client must trust. */
export const CERTIFICATE = trusted.cert

/** Serves files, and misbehaves for some of them. */
export async function startMisbehaving({ answer, tls = false, handshake }: Misbehaviour): Promise<MisbehavingUpstream> {
  const open = new Set<Socket>()
  const good = createSecureContext(trusted)
  const server = createServer((raw) => {
    open.add(raw)
    raw.on('error', () => {})
    raw.once('close', () => open.delete(raw))
    if (!tls) {
      serve(raw, raw)
      return
    }
    const wrong = upstream.target ? handshake : undefined
    if (wrong === 'never') return void raw.resume()
    if (wrong === 'cut off') return void raw.once('data', () => raw.end(Buffer.from([22, 3, 3, 0, 100, 2])))
    if (wrong === 'plain') return void raw.once('data', () => raw.end(head('HTTP/1.1 400 Bad Request')))
    const secureContext = wrong === 'untrusted' ? createSecureContext(selfSigned('localhost')) : good
    const secured = new TLSSocket(raw, { isServer: true, secureContext })
    secured.on('error', () => {})
    serve(secured, raw)
  })

  function serve(connection: Socket, raw: Socket): void {
    let read = ''
    connection.on('data', (bytes: Buffer) => {
      read += bytes.toString('latin1')
      for (let end = read.indexOf('\r\n\r\n'); end >= 0; end = read.indexOf('\r\n\r\n')) {
        const path = (read.split(' ')[1] ?? '').slice(1).replace(/\?.*/, '')
        read = read.slice(end + 4)
        const file = upstream.files[path]
        if (file === undefined) connection.write(head('HTTP/1.1 404 Not Found', 'Content-Length: 0'))
        else if (upstream.target?.test(path) && !handshake) answer(connection, Buffer.from(file), raw)
        // Each connection over TLS needs a separate handshake.
        else if (tls) connection.end(whole(Buffer.from(file), 'Connection: close'))
        else connection.write(whole(Buffer.from(file)))
      }
    })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const upstream: MisbehavingUpstream = {
    url: tls ? `https://localhost:${port}/` : `http://127.0.0.1:${port}/`,
    files: {},
    target: null,
    get open() {
      return open.size
    },
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return upstream
}
