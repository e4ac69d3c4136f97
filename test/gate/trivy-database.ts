// Small databases for the real trivy, made with its own library (test/gate/trivy-db), the programs for that, and a
// registry that serves them.
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
  /** the distribution as trivy-db names it: `ubuntu` 22.04, `redhat` 9 */
  family: string
  release: string
  package: string
  /** the first fixed version; absent when there is none */
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

/** Finds the programs, or builds them. */
export async function trivyTools(): Promise<TrivyTools> {
  const { stdout } = await run(join(import.meta.dirname, 'trivy.sh'), { maxBuffer: 2 ** 26 })
  const [trivy, maker] = stdout.trim().split('\n')
  return { trivy: trivy!, maker: maker! }
}

/** Writes a database into a directory, replacing the present one. @param updated its date, by default today */
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
  /** Sets the directory to serve from now on. With null the server answers errors. */
  offer(directory: string | null): Promise<void>
  close(): void
}

/** Starts a registry with one artifact, like trivy's: https://github.com/opencontainers/distribution-spec */
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
