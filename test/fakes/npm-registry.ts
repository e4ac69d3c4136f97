// An npm registry of somebody else, which counts what it is asked and can lie about everything.
import { createHash } from 'node:crypto'
import { buildNpm } from '../samples/npm.ts'
import { startLyingServer, type LyingServer } from './lying-server.ts'

export interface UpstreamVersion {
  /** ISO 8601; null for a version without a date */
  time: string | null
  /** of package.json, in the file */
  fields?: Record<string, unknown>
  /** instead of these, in the list */
  listed?: Record<string, unknown>
  /** over those of the list; made of them, where it is signed */
  dist?: Record<string, unknown> | ((integrity: string) => Record<string, unknown>)
}

export interface NpmRegistry extends LyingServer {
  put(name: string, versions: Record<string, UpstreamVersion>): Promise<void>
  remove(name: string): void
}

export async function startNpmRegistry(): Promise<NpmRegistry> {
  const contents = new Map<string, Buffer>()
  const server = await startLyingServer((path, request, response) => {
    const content = contents.get(path)
    if (!content) return response.writeHead(404).end()
    const etag = `"${createHash('sha1').update(content).digest('hex')}"`
    if (request.headers['if-none-match'] === etag) return response.writeHead(304).end()
    return response.writeHead(200, { etag }).end(content)
  })
  const { url } = server

  return {
    ...server,
    async put(name, versions) {
      const listed: Record<string, unknown> = {}
      const time: Record<string, string> = {}
      for (const [version, one] of Object.entries(versions)) {
        const tarball = await buildNpm({ name, version, fields: one.fields ?? {} })
        const path = `${name}/-/${name.replace(/^.*\//, '')}-${version}.tgz`
        contents.set(path, tarball)
        const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
        const more = typeof one.dist === 'function' ? one.dist(integrity) : one.dist
        const dist = { integrity, tarball: `${url}/${path}`, ...more }
        listed[version] = { name, version, ...(one.listed ?? one.fields), dist }
        if (one.time !== null) time[version] = one.time
      }
      const latest = Object.keys(versions).at(-1)
      contents.set(name, Buffer.from(JSON.stringify({ name, 'dist-tags': { latest }, time, versions: listed })))
    },
    remove: (name) => void contents.delete(name),
  }
}
