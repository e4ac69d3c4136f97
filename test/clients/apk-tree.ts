// A repository of apk packages as the publisher lays it out, in memory, for clients on loopback.
import { createHash, sign } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apkFormat } from '../../src/formats/apk/index.ts'
import { changeBlocks, type Entry } from '../../src/publish/blocks.ts'
import { composeStream, createStreamDigests } from '../../src/publish/compose.ts'
import { sampleSigners } from '../conformance.ts'
import type { SampleKey } from '../samples/apk.ts'

export interface ApkTree {
  /** as `/etc/apk/repositories` names it */
  url: string
  /** paths below the server's root to bytes; a test may change them */
  files: Map<string, Buffer>
  /** paths asked for since the start */
  requests: string[]
  /** Offers these packages and no others. */
  publish(packages: readonly Uint8Array[]): Promise<void>
  close(): Promise<void>
}

const distribution = apkFormat.distributions.find(({ codename }) => codename === 'alpine3.20')!

export async function startApkTree(key: SampleKey): Promise<ApkTree> {
  const files = new Map<string, Buffer>()
  const requests: string[] = []
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    requests.push(path)
    const content = files.get(path)
    if (!content) return response.writeHead(404).end()
    response.writeHead(200, { 'content-length': content.length })
    response.end(request.method === 'HEAD' ? undefined : content)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const layout = apkFormat.layout(distribution)

  async function publish(packages: readonly Uint8Array[]): Promise<void> {
    const entries: Entry[] = []
    for (const [index, bytes] of packages.entries()) {
      const { filename, entry } = await describe(bytes)
      files.set(`/${layout.packages}/${apkFormat.packagePath({ filename, sha256: '' })}`, Buffer.from(bytes))
      const weight = createHash('sha256').update(bytes).digest().readUInt32BE()
      entries.push({ id: index, position: index, weight, bytes: entry })
    }
    const { blocks } = await changeBlocks([], [], entries, false)
    const written = await apkFormat.index({
      distribution,
      revision: 1,
      date: new Date(0),
      count: packages.length,
      compose: (_, head, tail) => composeStream(blocks, head, tail, false, createStreamDigests()),
      signers: {
        ...sampleSigners,
        apk: {
          keyName: key.name,
          publicKeyPem: key.pem,
          sign: async (bytes) => sign('RSA-SHA256', bytes, key.privatePem),
        },
      },
      extras: [],
    })
    for (const { path, content } of written) {
      if (path === layout.linkTarget) files.set(`/${layout.link}`, Buffer.concat([content].flat()))
    }
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/apk/${distribution.codename}/${distribution.component}`,
    files,
    requests,
    publish,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function describe(bytes: Uint8Array): Promise<{ filename: string; entry: Uint8Array }> {
  const directory = await mkdtemp(join(tmpdir(), 'apk-tree-'))
  try {
    const path = join(directory, 'package')
    await writeFile(path, bytes)
    const facts = await apkFormat.read(path)
    const filename = apkFormat.filename(facts)
    const digest = (kind: string) => createHash(kind).update(bytes).digest('hex')
    const digests = { sha256: digest('sha256'), sha512: digest('sha512'), sha1: digest('sha1'), md5: digest('md5') }
    const pkg = { facts, filename, sizeBytes: bytes.length, digests, addedAt: 0 }
    return { filename, entry: apkFormat.entry(pkg, distribution)['apkindex']! }
  } finally {
    await rm(directory, { recursive: true })
  }
}
