// An npm registry of somebody else with lists and files of any size, made without holding one in memory.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { buildNpm } from '../samples/npm.ts'
import { startLyingServer, type LyingServer } from './lying-server.ts'

export interface LargeName {
  name: string
  /** of the list, as JSON */
  listBytes: number
  /** of the file of the newest version */
  fileBytes: number
}

/** A version of a large library: most of it is of no use to an installation. */
const VERSION_BYTES = 4000
const DAY_MS = 86_400_000

/** The newest version of each name can be fetched. */
export async function startLargeRegistry(names: readonly LargeName[]): Promise<LyingServer> {
  const contents = new Map<string, { bytes: Buffer; gzip: boolean }>()
  const server = await startLyingServer((path, _request, response) => {
    const content = contents.get(path)
    if (!content) return response.writeHead(404).end()
    return response.writeHead(200, content.gzip ? { 'content-encoding': 'gzip' } : {}).end(content.bytes)
  })
  for (const { name, listBytes, fileBytes } of names) {
    const count = Math.max(1, Math.round(listBytes / VERSION_BYTES))
    const version = `1.${count - 1}.0`
    const tarball = await buildNpm({ name, version, fields: used(count - 1), files: { 'index.js': noise(fileBytes) } })
    const path = `${name}/-/${name}-${version}.tgz`
    contents.set(path, { bytes: tarball, gzip: false })
    const list = listOf(name, count, server.url, createHash('sha512').update(tarball).digest('base64'))
    contents.set(name, { bytes: gzipSync(list, { level: 1 }), gzip: true })
  }
  return server
}

const used = (n: number) => ({
  license: 'MIT',
  engines: { node: '>=18' },
  dependencies: Object.fromEntries(
    Array.from({ length: 8 }, (_, i) => [`lib-${(n + i) % 97}`, `^1.${(n * 7 + i) % 20}.0`]),
  ),
})

function listOf(name: string, count: number, url: string, integrity: string): string {
  const time: Record<string, string> = {}
  const versions = Array.from({ length: count }, (_, n) => {
    const version = `1.${n}.0`
    time[version] = new Date(Date.now() - ((count - n + 30) * DAY_MS) / 4).toISOString()
    const own = createHash('sha512').update(`${name} ${version}`).digest('base64')
    const dist = {
      ...{
        integrity: `sha512-${n === count - 1 ? integrity : own}`,
        tarball: `${url}/${name}/-/${name}-${version}.tgz`,
      },
      ...{ fileCount: 100 + n, unpackedSize: 100_000 + n, signatures: [{ keyid: own.slice(0, 40), sig: own }] },
    }
    const shown = { name, version, description: `${name} is a library`, ...used(n), dist }
    const rest = {
      devDependencies: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`tool-${i}`, `^${n % 9}.${i}.0`])),
    }
    const filled = JSON.stringify({ ...shown, ...rest, gitHead: own.slice(0, 40) })
    const readme = 'x'.repeat(Math.max(0, VERSION_BYTES - filled.length - version.length))
    return `${JSON.stringify(version)}:${JSON.stringify({ ...shown, ...rest, gitHead: own.slice(0, 40), readme })}`
  })
  const head = JSON.stringify({ name, 'dist-tags': { latest: `1.${count - 1}.0` }, time }).slice(0, -1)
  return `${head},"versions":{${versions.join(',')}}}`
}

/** Text that does not compress to nothing. */
function noise(bytes: number): string {
  const line = (n: number) => createHash('sha256').update(String(n)).digest('base64')
  return Array.from({ length: Math.ceil(bytes / 44) }, (_, n) => line(n)).join('')
}
