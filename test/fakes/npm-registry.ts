// An npm registry of somebody else, which counts what it is asked and can lie about everything.
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildNpm } from '../samples/npm.ts'

export interface UpstreamVersion {
  /** ISO 8601; null for a version without a date */
  time: string | null
  /** of package.json, in the file */
  fields?: Record<string, unknown>
  /** instead of these, in the list */
  listed?: Record<string, unknown>
  /** over those of the list */
  dist?: Record<string, unknown>
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface NpmRegistry {
  url: string
  /** paths that were asked for */
  asked: string[]
  /** the credentials that came with them */
  credentials: (string | undefined)[]
  put(name: string, versions: Record<string, UpstreamVersion>): Promise<void>
  remove(name: string): void
  /** answers a path, without its first slash, in another way */
  lie(path: string, answer: Answer): void
  /** every request waits until this is resolved */
  holdUntil(released: Promise<void>): void
  close(): Promise<void>
}

export async function startNpmRegistry(): Promise<NpmRegistry> {
  const contents = new Map<string, Buffer>()
  const lies = new Map<string, Answer>()
  const asked: string[] = []
  const credentials: (string | undefined)[] = []
  let released = Promise.resolve()

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1)
    asked.push(path)
    credentials.push(request.headers.authorization)
    void released.then(() => {
      const lie = lies.get(path)
      const content = contents.get(path)
      if (lie) {
        lie(request, response)
        return
      }
      if (!content) return response.writeHead(404).end()
      const etag = `"${createHash('sha1').update(content).digest('hex')}"`
      if (request.headers['if-none-match'] === etag) return response.writeHead(304).end()
      return response.writeHead(200, { etag }).end(content)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    ...{ url, asked, credentials },
    async put(name, versions) {
      const listed: Record<string, unknown> = {}
      const time: Record<string, string> = {}
      for (const [version, one] of Object.entries(versions)) {
        const tarball = await buildNpm({ name, version, fields: one.fields ?? {} })
        const path = `${name}/-/${name.replace(/^.*\//, '')}-${version}.tgz`
        contents.set(path, tarball)
        const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
        const dist = { integrity, tarball: `${url}/${path}`, ...one.dist }
        listed[version] = { name, version, ...(one.listed ?? one.fields), dist }
        if (one.time !== null) time[version] = one.time
      }
      const latest = Object.keys(versions).at(-1)
      contents.set(name, Buffer.from(JSON.stringify({ name, 'dist-tags': { latest }, time, versions: listed })))
    },
    remove: (name) => void contents.delete(name),
    lie: (path, answer) => void lies.set(path, answer),
    holdUntil: (until) => void (released = until),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
