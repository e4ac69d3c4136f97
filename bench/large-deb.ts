// Large packages for benchmarks of throughput: uploads, backups.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { controlText } from '../test/samples/deb.ts'
import { buildTar, tarEntry } from '../test/samples/tar.ts'

const MIB = 1 << 20

/** Writes a deb with uncompressed random data, so that network and disk are measured without decompression. */
export async function writeDeb(path: string, name: string, mib: number): Promise<void> {
  const out = createWriteStream(path)
  const write = async (bytes: Uint8Array) => {
    if (!out.write(bytes)) await once(out, 'drain')
  }
  const member = (file: string, size: number) =>
    Buffer.from(
      `${file.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(size).padEnd(10)}\`\n`,
    )
  const control = gzipSync(
    buildTar([{ name: './' }, { name: './control', content: controlText({ name, version: '1.0-1' }) }]),
  )
  const content = mib * MIB
  const head = tarEntry({ name: './payload', content: new Uint8Array(0) })
  head.write(content.toString(8).padStart(11, '0'), 124, 'latin1')
  head.fill(' ', 148, 156)
  head.write(
    `${head
      .subarray(0, 512)
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    'latin1',
  )
  await write(
    Buffer.concat([
      Buffer.from('!<arch>\n'),
      member('debian-binary', 4),
      Buffer.from('2.0\n'),
      member('control.tar.gz', control.length),
      control,
      Buffer.alloc(control.length % 2, '\n'),
    ]),
  )
  await write(member('data.tar', 512 + content + 1024))
  await write(head.subarray(0, 512))
  for (let i = 0; i < mib; i++) await write(randomBytes(MIB))
  await write(Buffer.alloc(1024))
  out.end()
  await once(out, 'finish')
}
