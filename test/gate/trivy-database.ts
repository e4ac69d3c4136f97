// Tiny databases for the real trivy, made by its own library (test/gate/trivy-db), the programs for it, and a registry to
// load them from.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface TrivyTools {
  trivy: string
  maker: string
}

export interface TrivyAdvisory {
  id: string
  /** of the distribution, as the maker names it: `ubuntu` 22.04, `redhat` 9 */
  family: string
  release: string
  package: string
  /** the first version without the hole; none without it, where the family can tell that */
  fixed?: string
  status?: 'affected' | 'will_not_fix'
  severity?: 'CRITICAL' | 'HIGH' | 'MEDIUM' | 'LOW'
  cves?: string[]
  arches?: string[]
  score?: number
  vector?: string
  urls?: string[]
  title?: string
}

/** The programs; built when they are missing. */
export async function trivyTools(): Promise<TrivyTools> {
  const { stdout } = await run(join(import.meta.dirname, 'trivy.sh'), { maxBuffer: 2 ** 26 })
  const [trivy, maker] = stdout.trim().split('\n')
  return { trivy: trivy!, maker: maker! }
}

/** Puts a database in force in a directory, in place of the one there. @param updated the day it says it is of, today without it */
export async function makeDatabase(
  tools: TrivyTools,
  directory: string,
  advisories: readonly TrivyAdvisory[],
  updated?: Date,
): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  const child = spawn(tools.maker, [directory], { stdio: ['pipe', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (part: Buffer) => (said += part.toString()))
  child.stdin.end(JSON.stringify({ ...(updated ? { updated: updated.toISOString() } : {}), advisories }))
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`no database was made: ${said}`)
}

export interface Registry {
  /** the value of TRIVY_DB_REPOSITORY */
  name: string
  /** what is loaded from now on: the files of a directory; nothing, and a server that fails, for null */
  offer(directory: string | null): Promise<void>
  close(): void
}

/** A registry of one artifact, as trivy's database is published: https://github.com/opencontainers/distribution-spec */
export async function startRegistry(): Promise<Registry> {
  const served = new Map<string, { type: string; bytes: Buffer }>()
  const server = createServer((request, response) => {
    const found = served.get(request.url!)
    if (request.url === '/v2/') response.writeHead(200).end()
    else
      response
        .writeHead(found ? 200 : 500, found && { 'content-type': found.type, 'content-length': found.bytes.length })
        .end(found?.bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const blob = (bytes: Buffer, type: string, more: object = {}) => {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    served.set(`/v2/trivy-db/blobs/${digest}`, { type: 'application/octet-stream', bytes })
    return { mediaType: type, digest, size: bytes.length, ...more }
  }
  return {
    name: `127.0.0.1:${(server.address() as AddressInfo).port}/trivy-db:2`,
    async offer(directory) {
      served.clear()
      if (directory === null) return
      const archive = execFileSync('tar', ['cz', '-C', directory, '.'], { maxBuffer: 2 ** 28 })
      const type = 'application/vnd.oci.image.manifest.v1+json'
      const manifest = {
        schemaVersion: 2,
        mediaType: type,
        config: blob(Buffer.from('{}'), 'application/vnd.aquasec.trivy.config.v1+json'),
        layers: [
          blob(archive, 'application/vnd.aquasec.trivy.db.layer.v1.tar+gzip', {
            annotations: { 'org.opencontainers.image.title': 'db.tar.gz' },
          }),
        ],
      }
      served.set('/v2/trivy-db/manifests/2', { type, bytes: Buffer.from(JSON.stringify(manifest)) })
    },
    close: () => server.close(),
  }
}
