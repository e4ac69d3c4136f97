// Reads a published apk repository as apk does: the index, the signature in front of it, and every package it lists.
import { createHash, verify } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { fail, hash, type Repository, type ReadOptions, type Offer, type Read } from './read-repository.ts'

const GZIP = Buffer.of(0x1f, 0x8b, 0x08)

export async function readApk(read: Read, codename: string, { seen }: ReadOptions): Promise<Repository> {
  const at = `apk/${codename}/main/x86_64`
  const must = async (path: string) => (await read(path)) ?? fail(`${path} is missing`)
  const key = await must('keys/svc.rsa.pub')
  const index = await must(`${at}/APKINDEX.tar.gz`)
  const files = untar(
    signedPart(index, key) ??
      fail('the signature of the index is not by the key of the repository, or not over these bytes'),
  )
  const revision = Number(
    / r(\d+)$/.exec(String(files.get('DESCRIPTION')).trim())?.[1] ?? fail('the index has no revision'),
  )
  const packages = new Map<string, Offer>()
  for (const stanza of String(files.get('APKINDEX') ?? fail('the index has no APKINDEX'))
    .split('\n\n')
    .filter(Boolean)) {
    const field = (letter: string) =>
      new RegExp(`^${letter}:(.*)$`, 'm').exec(stanza)?.[1] ?? fail(`a record has no ${letter}: ${stanza}`)
    const [name, version] = [field('P'), field('V')]
    const id = `${name} ${version} ${field('A')}`
    if (packages.has(id)) fail(`${id} is in the index twice`)
    const filename = `${at}/${name}-${version}.apk`
    // Package paths contain no digest: another revision may have other bytes at the same path.
    const bytes = await must(filename)
    const sha256 = hash('sha256', bytes)
    packages.set(id, { filename, sha256, sizeBytes: Number(field('S')) })
    if (seen?.has(sha256)) continue
    if (bytes.byteLength !== Number(field('S'))) fail(`${filename} has ${bytes.byteLength} bytes`)
    const control = field('C').replace(/^Q1/, '')
    if (
      !memberEnds(bytes).some((end) => createHash('sha1').update(bytes.subarray(0, end)).digest('base64') === control)
    )
      fail(`${filename}'s control segment does not match the index`)
    seen?.add(sha256)
  }
  return { date: revision, packages }
}

/** Offsets at which a gzip member may end, because another header begins there. */
function memberEnds(bytes: Buffer): number[] {
  const ends: number[] = []
  for (let at = bytes.indexOf(GZIP, 1); at > 0; at = bytes.indexOf(GZIP, at + 1)) ends.push(at)
  return [...ends, bytes.length]
}

/** The archive after its leading signature; null when the signature is not by this key. */
function signedPart(index: Buffer, key: Buffer): Buffer | null {
  for (const end of memberEnds(index)) {
    try {
      const [[name, signature] = []] = untar(gunzipSync(index.subarray(0, end)))
      const rest = index.subarray(end)
      if (name === '.SIGN.RSA256.svc.rsa.pub' && signature && verify('RSA-SHA256', rest, key, signature))
        return gunzipSync(rest)
    } catch {
      // The first member does not end here.
    }
  }
  return null
}

function untar(tar: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    const name = tar.toString('latin1', at, at + 100).replace(/\0.*$/s, '')
    const size = parseInt(tar.toString('latin1', at + 124, at + 136), 8)
    files.set(name, tar.subarray(at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}
