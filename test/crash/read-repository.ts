// Reads a published repository as its clients do, but more strictly, from disk or over HTTP. This file reads apt and
// calls the readers of the other formats.
import { createHash } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import * as openpgp from 'openpgp'
import { findDistribution } from '../../src/formats/index.ts'
import { ifMissing } from '../../src/kernel/files.ts'
import { objectKey, parseLinkTarget, type ObjectStore } from '../../src/store/objects/object-store.ts'
import type { Service } from '../service.ts'
import { readApk } from './read-apk.ts'
import { readRpm } from './read-rpm.ts'

const lzma = createRequire(import.meta.url)('lzma-native') as { decompress(bytes: Buffer): Promise<Buffer> }

/** The bytes of a path below the repository's root, such as `dists/jammy/InRelease`; null when it does not exist. */
export type Read = (path: string) => Promise<Buffer | null>

export interface Offer {
  filename: string
  sha256: string
  sizeBytes: number
}

export interface Repository {
  /** date of the Release in seconds since 1970; for apk, whose index has no time, the revision */
  date: number
  /** package files by `name version arch` */
  packages: Map<string, Offer>
}

export interface ReadOptions {
  /** nothing is published meanwhile, so files outside of `by-hash` must match too */
  quiet?: boolean
  /** digests of package files that were checked before and are not fetched again */
  seen?: Set<string>
}

/** @throws Error that describes the fault */
export async function readRepository(
  read: Read,
  codename: string,
  publicKey: string,
  options: ReadOptions = {},
): Promise<Repository> {
  const format = findDistribution(codename)?.format.id
  if (format === 'rpm') return readRpm(read, codename, publicKey, options)
  return format === 'apk' ? readApk(read, codename, options) : readApt(read, codename, publicKey, options)
}

async function readApt(
  read: Read,
  codename: string,
  publicKey: string,
  { quiet = true, seen }: ReadOptions,
): Promise<Repository> {
  const at = `dists/${codename}`
  const must = async (path: string) => (await read(path)) ?? fail(`${path} is missing`)
  const key = await openpgp.readKey({ armoredKey: publicKey })
  const inRelease = (await must(`${at}/InRelease`)).toString()
  const message = await openpgp.readCleartextMessage({ cleartextMessage: inRelease })
  const { signatures } = await openpgp
    .verify({ message, verificationKeys: key, expectSigned: true, date: latest() })
    .catch((error: unknown) => fail(`InRelease: ${String(error)}`))
  await signatures[0]?.verified
  const release = message.getText()
  if (quiet) await compareDetached(await must(`${at}/Release`), await must(`${at}/Release.gpg`), release, key)

  const files = listed(release)
  for (const path of ['main/binary-amd64/Packages', 'main/binary-amd64/Packages.gz', 'main/binary-amd64/Packages.xz']) {
    if (!files.has(path)) fail(`the Release does not list ${path}`)
  }
  const content = new Map<string, Buffer>()
  for (const [path, { sha256, sizeBytes }] of files) {
    // Release lists the uncompressed Packages too, but only compressed files are stored.
    if (files.has(`${path}.gz`)) continue
    const directory = path.split('/').slice(0, -1).join('/')
    const isPackages = path.includes('/Packages')
    const bytes = isPackages ? await must(`${at}/${directory}/by-hash/SHA256/${sha256}`) : await must(`${at}/${path}`)
    // Contents has no copies by digest, so it can be checked only while nothing is published.
    if (isPackages || quiet) check(path, bytes, sha256, sizeBytes)
    if (quiet) check(path, await must(`${at}/${path}`), sha256, sizeBytes)
    content.set(path, bytes)
  }
  const plain = files.get('main/binary-amd64/Packages') as { sha256: string; sizeBytes: number }
  const text = gunzipSync(content.get('main/binary-amd64/Packages.gz') as Buffer)
  check('Packages out of Packages.gz', text, plain.sha256, plain.sizeBytes)
  check(
    'Packages out of Packages.xz',
    await lzma.decompress(content.get('main/binary-amd64/Packages.xz') as Buffer),
    plain.sha256,
    plain.sizeBytes,
  )

  const packages = new Map<string, Offer>()
  for (const stanza of text.toString().split('\n\n').filter(Boolean)) {
    const field = (name: string) =>
      new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1] ?? fail(`a stanza has no ${name}: ${stanza}`)
    const id = `${field('Package')} ${field('Version')} ${field('Architecture')}`
    if (packages.has(id)) fail(`${id} is in the index twice`)
    const offer = { filename: field('Filename'), sha256: field('SHA256'), sizeBytes: Number(field('Size')) }
    packages.set(id, offer)
    if (seen?.has(offer.filename)) continue
    const file = await must(offer.filename)
    check(offer.filename, file, offer.sha256, offer.sizeBytes)
    if (hash('sha512', file) !== field('SHA512')) fail(`${offer.filename} has another SHA-512`)
    if (hash('md5', file) !== field('MD5sum')) fail(`${offer.filename} has another MD5`)
    seen?.add(offer.filename)
  }
  return { date: Date.parse(/^Date: (.*)$/m.exec(release)?.[1] ?? fail('the Release has no Date')) / 1000, packages }
}

async function compareDetached(
  release: Buffer,
  signature: Buffer,
  cleartext: string,
  key: openpgp.PublicKey,
): Promise<void> {
  if (release.toString().trimEnd() !== cleartext.trimEnd()) fail('Release and InRelease differ')
  await verifyDetached(release, signature, key)
}

/** @throws when the armored signature is not one by this key over these bytes */
export async function verifyDetached(release: Buffer, signature: Buffer, key: openpgp.PublicKey): Promise<void> {
  const message = await openpgp.createMessage({ binary: release })
  const { signatures } = await openpgp.verify({
    message,
    signature: await openpgp.readSignature({ armoredSignature: signature.toString() }),
    verificationKeys: key,
    expectSigned: true,
    date: latest(),
  })
  await signatures[0]?.verified
}

/** apt accepts an index dated up to 10 s in the future (Acquire::Max-FutureTime). */
function latest(): Date {
  return new Date(Date.now() + 10_000)
}

function listed(release: string): Map<string, { sha256: string; sizeBytes: number }> {
  const files = new Map<string, { sha256: string; sizeBytes: number }>()
  for (const [, sha256, size, path] of release.matchAll(/^ ([0-9a-f]{64}) +(\d+) (\S+)$/gm))
    files.set(path as string, { sha256: sha256 as string, sizeBytes: Number(size) })
  return files
}

export function check(what: string, bytes: Buffer, sha256: string, sizeBytes: number): void {
  if (bytes.byteLength !== sizeBytes) fail(`${what} has ${bytes.byteLength} bytes, not ${sizeBytes}`)
  if (hash('sha256', bytes) !== sha256) fail(`${what} has another SHA-256`)
}

export function hash(name: string, bytes: Buffer): string {
  return createHash(name).update(bytes).digest('hex')
}

export function fail(sentence: string): never {
  throw new Error(sentence)
}

/** Reads from the published trees on disk. @param store has the packages that the trees only name; null without one */
export function readDisk(reposDir: string, store: ObjectStore | null = null): Read {
  return async (path) => {
    try {
      return await readFile(join(reposDir, path))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      const target = store && (await readlink(join(reposDir, path)).catch(ifMissing(null)))
      const linked = target === null ? null : parseLinkTarget(target)
      const object = linked && (await store!.get(objectKey(linked)))
      return object && buffer(object.stream)
    }
  }
}

/** Reads from the listeners for clients. */
export function readHttp(
  service: Pick<Service, 'apt' | 'rpm'>,
  request: (url: string) => Promise<Pick<Response, 'status' | 'arrayBuffer'>> = fetch,
): Read {
  const addressOf = (path: string) => {
    const [top, ...rest] = path.split('/')
    if (top === 'rpm') return `${service.rpm}/repos/${rest.join('/')}`
    if (path === 'keys/svc.rsa.pub') return `${service.apt}/apk/svc.rsa.pub`
    return top === 'apk' ? `${service.apt}/${path}` : `${service.apt}/repos/${path}`
  }
  return async (path) => {
    const answer = await request(addressOf(path))
    if (answer.status === 404) return null
    if (answer.status !== 200) fail(`${path}: ${answer.status}`)
    return Buffer.from(await answer.arrayBuffer())
  }
}
