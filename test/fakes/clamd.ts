// A small clamd on loopback: PING, VERSION, INSTREAM and IDSESSION, with NUL-terminated commands. It finds EICAR.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** The EICAR test file, concatenated here so that no file of the repository is detected. */
export function eicar(): Buffer {
  return Buffer.from('X5O!P%@AP[4\\PZX54(P^)7CC)7}$' + 'EICAR-STANDARD-' + 'ANTIVIRUS-TEST-FILE!$H+H*')
}

export interface FakeClamdOptions {
  /** by default a free port */
  port?: number
  /** StreamMaxLength; by default unlimited */
  streamLimit?: number
  /** closes a stream over the limit without an answer, like a broken pipe during sending */
  refusesSilently?: boolean
  version?: string
  /** overrides answers: `hang` never answers, `hangup` closes without an answer, null answers by content */
  answer?: (stream: Buffer, number: number) => string | null
  /** after this many streams, disconnects and closes the port for good */
  dieAfterStreams?: number
  /** after this many streams, ends the session without the pending answers (ReadTimeout) */
  endSessionAfterStreams?: number
  /** reads nothing after the first chunk of a stream */
  stopReading?: boolean
}

export interface FakeClamd {
  address: { host: string; port: number }
  /** complete streams, in the order they ended */
  readonly streams: Buffer[]
  readonly commands: string[]
  readonly connections: number
  /** Resolves when no client is connected. */
  idle(): Promise<void>
  close(): Promise<void>
}

export async function startFakeClamd(options: FakeClamdOptions = {}): Promise<FakeClamd> {
  const streams: Buffer[] = []
  const commands: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0

  const die = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }

  const server: Server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    serve(socket)
  })

  function serve(socket: Socket): void {
    let input = Buffer.alloc(0)
    let session = false
    let number = 0
    let streamsHere = 0
    /** chunks of the current stream; null between commands */
    let chunks: Buffer[] | null = null

    const reply = (text: string) => {
      socket.write(`${session ? `${number}: ` : ''}${text}\0`)
      if (!session) socket.end()
    }

    const answer = (stream: Buffer) => {
      streams.push(stream)
      streamsHere++
      if (options.dieAfterStreams === streams.length) {
        die()
        return
      }
      if (session && options.endSessionAfterStreams === streamsHere) return void socket.end('COMMAND READ TIMED OUT\n')
      const override = options.answer?.(stream, streams.length) ?? null
      if (override === 'hang') return
      if (override === 'hangup') return void socket.destroy()
      reply(override ?? (stream.includes(eicar()) ? 'stream: Test.EICAR FOUND' : 'stream: OK'))
    }

    /** Like clamd, decides by the announced length, answers while the client is still sending, and disconnects. */
    const refuse = (): false => {
      if (options.refusesSilently && input.length > 4) socket.destroy()
      else socket.end(`${session ? `${number}: ` : ''}INSTREAM size limit exceeded. ERROR\0`)
      socket.removeAllListeners('data').resume()
      return false
    }

    /** @returns false when more input is needed */
    const step = (): boolean => {
      if (chunks === null) {
        const end = input.indexOf(0)
        if (end < 0) return false
        const command = input.toString('latin1', 0, end)
        input = input.subarray(end + 1)
        commands.push(command)
        if (command === 'zIDSESSION') session = true
        else number++
        if (command === 'zPING') reply('PONG')
        else if (command === 'zVERSION') reply(options.version ?? 'ClamAV 1.4.6/27000/Tue Nov 18 09:26:00 2025')
        else if (command === 'zINSTREAM') chunks = []
        else if (command === 'zEND') socket.end()
        else if (command !== 'zIDSESSION') reply('UNKNOWN COMMAND')
        return true
      }
      if (input.length < 4) return false
      const size = input.readUInt32BE(0)
      const sum = chunks.reduce((bytes, chunk) => bytes + chunk.length, size)
      if (options.streamLimit !== undefined && sum > options.streamLimit) return refuse()
      if (input.length < 4 + size) return false
      const chunk = input.subarray(4, 4 + size)
      input = input.subarray(4 + size)
      if (size === 0) {
        const stream = Buffer.concat(chunks)
        chunks = null
        answer(stream)
        return true
      }
      chunks.push(Buffer.from(chunk))
      if (options.stopReading) socket.pause()
      return true
    }

    socket.on('data', (data: Buffer) => {
      input = Buffer.concat([input, data])
      while (!socket.destroyed && step());
    })
  }

  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    address: { host: '127.0.0.1', port },
    streams,
    commands,
    get connections() {
      return connections
    },
    async idle() {
      await Promise.all([...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    },
    async close() {
      if (!server.listening) return
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
