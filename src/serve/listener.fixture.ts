// For tests: a repositories' directory with real generations and links, a listener on loopback, and raw clients.
import { mkdtempSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { createAccessLog } from './access-log.ts'
import { formats } from '../formats/index.ts'
import { mountsOf } from './mounts.ts'
import { createRepositoryListener, type RepositoryListenerDeps } from './repository-listener.ts'

export const APT_MOUNTS = mountsOf('apt', formats, formats)
export const RPM_MOUNTS = mountsOf('rpm', formats, formats)

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  text: string
}

export type Repository = ReturnType<typeof createRepository>
export type TestListener = Awaited<ReturnType<typeof startListener>>

/** A repositories' directory as the publisher creates it. */
export function createRepository() {
  const dir = mkdtempSync(join(tmpdir(), 'serve-'))
  let revision = 0

  const write = (path: string, content: string | Uint8Array): string => {
    const full = join(dir, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, content)
    return full
  }
  const link = (path: string, target: string): void => {
    const full = join(dir, path)
    mkdirSync(dirname(full), { recursive: true })
    const temporary = join(dirname(full), `.link-${++revision}`)
    symlinkSync(target, temporary)
    renameSync(temporary, full)
  }

  return {
    dir,
    /** Writes a file below the repositories' directory. */
    write,
    /** Creates a symbolic link, or replaces one by one rename. */
    link,
    /** Builds a generation of a deb distribution and flips its link. Returns the generation's path. */
    publish(codename: string, files: Record<string, string | Uint8Array>): string {
      const base = `.generations/deb/${codename}`
      const generation = `${base}/r${++revision}-test`
      for (const [path, content] of Object.entries(files)) write(`${generation}/${path}`, content)
      mkdirSync(join(dir, base, 'pool'), { recursive: true })
      mkdirSync(join(dir, base, 'by-hash'), { recursive: true })
      mkdirSync(join(dir, generation, 'main/binary-amd64'), { recursive: true })
      symlinkSync('../pool', join(dir, generation, 'pool'))
      symlinkSync('../../../by-hash', join(dir, generation, 'main/binary-amd64/by-hash'))
      link(`dists/${codename}`, `../${generation}`)
      return generation
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/** Starts a listener on a free port of loopback. */
export async function startListener(reposDir: string, overrides: Partial<RepositoryListenerDeps> = {}) {
  const logged: string[] = []
  const log = createLog('info', { write: (line) => logged.push(line) })
  const accessPath = join(reposDir, 'logs/access-apt.log')
  const accessLog = createAccessLog({ path: accessPath, clock: systemClock, log, mostBytes: 1e9 })
  const deps = { reposDir, mounts: APT_MOUNTS, accessLog, clock: systemClock, log, ...overrides }
  const listener = createRepositoryListener(deps)
  const port = await listener.listen(0, '127.0.0.1')
  return {
    ...listener,
    port,
    accessPath,
    accessLog,
    logged,
    get: (path: string, headers: Record<string, string> = {}) => ask(port, 'GET', path, headers),
    head: (path: string, headers: Record<string, string> = {}) => ask(port, 'HEAD', path, headers),
    ask: (method: string, path: string, headers: Record<string, string> = {}) => ask(port, method, path, headers),
    raw: (text: string) => exchangeRaw(port, text),
  }
}

/** One request on a separate connection; the path is sent unchanged. */
function ask(port: number, method: string, path: string, headers: Record<string, string>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', reject)
      response.on('end', () => {
        const body = Buffer.concat(pieces)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, text: body.toString() })
      })
    })
    request.on('error', reject)
    request.end()
  })
}

/** Sends bytes that no HTTP client would send. Returns everything received until the server ends the connection. */
export function exchangeRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (piece) => (answer += String(piece)))
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

/** An open connection that the test controls. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}
