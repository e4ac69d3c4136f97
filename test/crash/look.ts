// Reads a published repository as its clients do, but refuses everything they would forgive. Bytes come through a
// function, from disk or over HTTP. This file: apt, and which format a codename has.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import * as openpgp from 'openpgp'
import { findDistribution } from '../../src/formats/index.ts'
import type { Service } from '../service.ts'
import { lookApk } from './look-apk.ts'
import { lookRpm } from './look-rpm.ts'

const lzma = createRequire(import.meta.url)('lzma-native') as { decompress(bytes: Buffer): Promise<Buffer> }

/** The bytes of a path below the repository's root, as in `dists/jammy/InRelease`; null when there are none. */
export type Read = (path: string) => Promise<Buffer | null>

export interface Offer {
  filename: string
  sha256: string
  sizeBytes: number
}

export interface Look {
  /** of the Release, seconds since 1970; of an apk index, which has no time, the revision */
  date: number
  /** `name version arch` to what is offered under it */
  packages: Map<string, Offer>
}

export interface LookOptions {
  /** nothing is published meanwhile: what lies outside of `by-hash` must agree too */
  still?: boolean
  /** digests of package files known to be right already, so that they are not fetched again and again */
  seen?: Set<string>
}

/** @throws Error with what is wrong, in a sentence */
export async function look(read: Read, codename: string, publicKey: string, options: LookOptions = {}): Promise<Look> {
  const format = findDistribution(codename)?.format.id
  if (format === 'rpm') return lookRpm(read, codename, publicKey, options)
  return format === 'apk' ? lookApk(read, codename, options) : lookApt(read, codename, publicKey, options)
}

async function lookApt(
  read: Read,
  codename: string,
  publicKey: string,
  { still = true, seen }: LookOptions,
): Promise<Look> {
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
  if (still) await compareDetached(await must(`${at}/Release`), await must(`${at}/Release.gpg`), release, key)

  const files = listed(release)
  for (const path of ['main/binary-amd64/Packages', 'main/binary-amd64/Packages.gz', 'main/binary-amd64/Packages.xz']) {
    if (!files.has(path)) fail(`the Release does not list ${path}`)
  }
  const content = new Map<string, Buffer>()
  for (const [path, { sha256, sizeBytes }] of files) {
    // Release lists what Packages.gz unpacks to; such a file itself is not kept.
    if (files.has(`${path}.gz`)) continue
    const directory = path.split('/').slice(0, -1).join('/')
    const isPackages = path.includes('/Packages')
    const bytes = isPackages ? await must(`${at}/${directory}/by-hash/SHA256/${sha256}`) : await must(`${at}/${path}`)
    // Contents is replaced without a trace: only its own file can be asked for, and only when nothing moves.
    if (isPackages || still) check(path, bytes, sha256, sizeBytes)
    if (still) check(path, await must(`${at}/${path}`), sha256, sizeBytes)
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

/** @throws when the armored signature is not that key's over these bytes */
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

/** apt takes an index that claims to be up to 10 s younger than now (Acquire::Max-FutureTime). */
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

/** From the tree on disk, following its links. */
export function readDisk(reposDir: string): Read {
  return async (path) => {
    try {
      return await readFile(join(reposDir, path))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }
}

/** From the listeners that clients talk to. */
export function readHttp(service: Pick<Service, 'apt' | 'rpm'>): Read {
  const addressOf = (path: string) => {
    const [top, ...rest] = path.split('/')
    if (top === 'rpm') return `${service.rpm}/repos/${rest.join('/')}`
    if (path === 'keys/svc.rsa.pub') return `${service.apt}/apk/svc.rsa.pub`
    return top === 'apk' ? `${service.apt}/${path}` : `${service.apt}/repos/${path}`
  }
  return async (path) => {
    const answer = await fetch(addressOf(path))
    if (answer.status === 404) return null
    if (answer.status !== 200) fail(`${path}: ${answer.status}`)
    return Buffer.from(await answer.arrayBuffer())
  }
}
