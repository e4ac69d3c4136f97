// Reads a published rpm repository as dnf does: repomd.xml, its signature, the listed metadata, and every package.
import { gunzipSync } from 'node:zlib'
import * as openpgp from 'openpgp'
import {
  check,
  fail,
  hash,
  verifyDetached,
  type Repository,
  type ReadOptions,
  type Offer,
  type Read,
} from './read-repository.ts'

export async function readRpm(
  read: Read,
  codename: string,
  publicKey: string,
  { quiet = true, seen }: ReadOptions,
): Promise<Repository> {
  const at = `rpm/${codename}/x86_64`
  const must = async (path: string) => (await read(`${at}/${path}`)) ?? fail(`${at}/${path} is missing`)
  const repomd = await must('repodata/repomd.xml')
  if (quiet)
    await verifyDetached(
      repomd,
      await must('repodata/repomd.xml.asc'),
      await openpgp.readKey({ armoredKey: publicKey }),
    )

  const texts = new Map<string, string>()
  let date = 0
  for (const [, type, data] of repomd.toString().matchAll(/<data type="(\w+)">(.*?)<\/data>/gs) as Iterable<
    [string, string, string]
  >) {
    const one = (pattern: RegExp) => pattern.exec(data)?.[1] ?? fail(`${type} has no ${pattern.source}`)
    const path = one(/<location href="([^"]+)"/)
    const bytes = await must(path)
    check(path, bytes, one(/<checksum type="sha256">(\w+)</), Number(one(/<size>(\d+)</)))
    const text = gunzipSync(bytes)
    if (text.byteLength !== Number(one(/<open-size>(\d+)</))) fail(`${path} unpacks to ${text.byteLength} bytes`)
    texts.set(type, text.toString())
    date = Number(one(/<timestamp>(\d+)</))
  }
  const packages = new Map<string, Offer>()
  const digests: string[] = []
  for (const [stanza] of textOf(texts, 'primary').matchAll(/<package type="rpm">.*?<\/package>/gs)) {
    const field = (pattern: RegExp) => pattern.exec(stanza)?.[1] ?? fail(`a package has no ${pattern.source}`)
    const epoch = field(/<version epoch="(\d+)"/)
    const version = `${epoch === '0' ? '' : `${epoch}:`}${field(/ ver="([^"]+)"/)}-${field(/ rel="([^"]+)"/)}`
    const id = `${field(/<name>([^<]+)</)} ${version} ${field(/<arch>([^<]+)</)}`
    if (packages.has(id)) fail(`${id} is in the index twice`)
    const offer = {
      filename: field(/<location href="([^"]+)"/),
      sha256: field(/<checksum type="sha256" pkgid="YES">(\w+)</),
      sizeBytes: Number(field(/<size package="(\d+)"/)),
    }
    packages.set(id, offer)
    digests.push(offer.sha256)
    if (seen?.has(offer.filename)) continue
    check(offer.filename, await must(offer.filename), offer.sha256, offer.sizeBytes)
    seen?.add(offer.filename)
  }
  for (const type of ['primary', 'filelists', 'other']) {
    const count = Number(/ packages="(\d+)"/.exec(textOf(texts, type))?.[1])
    if (count !== packages.size) fail(`${type} claims ${count} packages, but there are ${packages.size}`)
    const own =
      type === 'primary'
        ? digests
        : [...textOf(texts, type).matchAll(/<package pkgid="(\w+)"/g)].map(([, pkgid]) => pkgid)
    if (String(own) !== String(digests)) fail(`${type} lists other packages than primary`)
  }
  if (packages.size !== new Set(digests).size) fail(`${hash('sha256', repomd)} lists one file twice`)
  return { date, packages }
}

function textOf(texts: Map<string, string>, type: string): string {
  return texts.get(type) ?? fail(`repomd.xml names no ${type}`)
}
