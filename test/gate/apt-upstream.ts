// An unsigned apt repository on loopback, made of sample packages.
import { buildDeb, controlText, type SampleDeb } from '../samples/deb.ts'
import { aptFiles, sha256, startServer, type FakeServer } from '../../src/upstream/fixture.ts'
import type { Service } from '../service.ts'

export interface AptUpstream extends FakeServer {
  /** Lists these packages, and no others. */
  offer(samples: readonly Listed[]): Promise<void>
}

/** @property bytes of the file that is served instead of the described package */
export type Listed = SampleDeb & { bytes?: Uint8Array }

const SUITE = 'test'

export async function startAptUpstream(): Promise<AptUpstream> {
  const server = await startServer({})
  const offer = async (samples: readonly Listed[]) => {
    const stanzas: string[] = []
    for (const sample of samples) {
      const bytes = Buffer.from(sample.bytes ?? (await buildDeb(sample)))
      const path = `pool/${sample.name}_${(sample.version ?? '1.0-1').replace(':', '%3a')}_${sample.arch ?? 'amd64'}.deb`
      server.files[path] = bytes
      stanzas.push(`${controlText(sample)}Filename: ${path}\nSize: ${bytes.length}\nSHA256: ${sha256(bytes)}\n`)
    }
    const { release, files } = aptFiles({ packages: stanzas.join('\n'), release: { Date: new Date().toUTCString() } })
    Object.assign(server.files, files, { [`dists/${SUITE}/Release`]: release })
  }
  // Returns the server itself, so that `intercept` can be set.
  return Object.assign(server, { offer })
}

/**
 * Adds the repository as a source and reads its catalog.
 * @param target the distribution that its packages are for
 * @returns the id of the source
 */
export async function addSource(
  service: Service,
  upstream: FakeServer,
  name: string,
  target: string | null = null,
): Promise<number> {
  const { status, body } = await service.call('POST', '/import/sources', {
    ...{
      name,
      type: 'apt',
      url: upstream.url,
      distribution: SUITE,
      components: ['main'],
      allow_unsigned: true,
      target,
    },
  })
  if (status !== 201) throw new Error(`the source ${name} is refused: ${JSON.stringify(body)}`)
  const id = body.id as number
  await syncSource(service, id)
  return id
}

export async function syncSource(service: Service, id: number): Promise<void> {
  const reply = await fetch(`${service.api}/api/v1/import/sources/${id}/sync`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}` },
  })
  const text = await reply.text()
  if (!text.includes('"status":"done"')) throw new Error(`the sync of source ${id} fails: ${text}`)
}
