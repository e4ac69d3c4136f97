// Whether each published APKINDEX.tar.gz is signed by our key. It lists no other index files.
import { inflateRawSync } from 'node:zlib'
import type { Distribution } from '../../domain/package.ts'
import type { IndexClaims, OwnSignatures } from '../format.ts'
import { INDEX_FILE } from './render.ts'
import { BLOCK_BYTES } from './tar-blocks.ts'

const GZIP_HEAD_BYTES = 10
const GZIP_TAIL_BYTES = 8
/** The signature of an RSA key of 16,384 bits, and its tar header. */
const MOST_SIGNATURE_BYTES = 4096

export async function readClaims(
  { architectures }: Distribution,
  read: (path: string) => Promise<Buffer | null>,
  signatures: OwnSignatures,
): Promise<IndexClaims> {
  const roots: IndexClaims['roots'] = []
  for (const arch of architectures) {
    const path = `${arch}/${INDEX_FILE}`
    const content = await read(path)
    roots.push({ path, fault: !content ? 'missing' : isSigned(content, signatures) ? null : 'wrong_content' })
  }
  return { roots, listed: [] }
}

/** The first gzip member holds a tar file with the signature of everything after it. */
function isSigned(content: Buffer, { apk }: OwnSignatures): boolean {
  const member = firstMember(content)
  if (!member) return false
  const name = member.tar.subarray(0, 100).toString('latin1').replace(/\0.*$/s, '')
  const size = parseInt(member.tar.subarray(124, 135).toString('latin1'), 8)
  if (name !== `.SIGN.RSA256.${apk.keyName}` || !(size > 0)) return false
  return apk.verify(content.subarray(member.end), member.tar.subarray(BLOCK_BYTES, BLOCK_BYTES + size))
}

function firstMember(content: Buffer): { tar: Buffer; end: number } | null {
  try {
    // With `info` zlib also returns the engine, which counts the bytes it read; the types lack it.
    const { buffer, engine } = inflateRawSync(content.subarray(GZIP_HEAD_BYTES), {
      info: true,
      maxOutputLength: MOST_SIGNATURE_BYTES,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
    return { tar: buffer, end: GZIP_HEAD_BYTES + engine.bytesWritten + GZIP_TAIL_BYTES }
  } catch {
    return null
  }
}
