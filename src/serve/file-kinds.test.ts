// Media types and cache lifetimes, by name.
import { expect, test } from 'vitest'
import { formats } from '../formats/index.ts'
import { kindOf } from './file-kinds.ts'

const DIGEST = 'ab'.repeat(32)

test.each<[string, string, 'changing' | 'package' | 'addressed']>([
  ['dists/jammy/InRelease', 'text/plain; charset=utf-8', 'changing'],
  ['dists/jammy/Release', 'text/plain; charset=utf-8', 'changing'],
  ['dists/jammy/Release.gpg', 'application/pgp-signature', 'changing'],
  ['dists/jammy/main/binary-amd64/Packages', 'text/plain; charset=utf-8', 'changing'],
  ['dists/jammy/main/binary-amd64/Packages.gz', 'application/gzip', 'changing'],
  ['dists/jammy/main/binary-amd64/Packages.xz', 'application/x-xz', 'changing'],
  ['dists/jammy/main/Contents-amd64.gz', 'application/gzip', 'changing'],
  [`dists/jammy/main/binary-amd64/by-hash/SHA256/${DIGEST}`, 'application/octet-stream', 'addressed'],
  ['dists/jammy/main/binary-amd64/by-hash/SHA256/InRelease', 'text/plain; charset=utf-8', 'changing'],
  ['dists/jammy/pool/h/hello_2.10-1_amd64.deb', 'application/vnd.debian.binary-package', 'package'],
  ['rpm/almalinux9/x86_64/repodata/repomd.xml', 'application/xml', 'changing'],
  ['rpm/almalinux9/x86_64/repodata/repomd.xml.asc', 'application/pgp-signature', 'changing'],
  [`rpm/almalinux9/x86_64/repodata/${DIGEST}-primary.xml.gz`, 'application/gzip', 'addressed'],
  ['rpm/almalinux9/x86_64/Packages/h/hello-1-1.x86_64.rpm', 'application/x-rpm', 'package'],
  ['apk/alpine3.20/main/x86_64/APKINDEX.tar.gz', 'application/gzip', 'changing'],
  ['apk/alpine3.20/main/x86_64/hello-1-r0.apk', 'application/vnd.alpine.package', 'changing'],
  ['keys/gpg.key', 'application/pgp-keys', 'changing'],
  ['keys/svc.rsa.pub', 'application/x-pem-file', 'changing'],
  ['dists/jammy/odd.constructor', 'application/octet-stream', 'changing'],
])('%s', (path, mediaType, life) => {
  const format = formats.find(({ serving }) => path.startsWith(`${serving.tree.path}/`)) ?? null
  const kind = kindOf(path, format)
  expect(kind.mediaType).toBe(mediaType)
  expect(kind.immutable).toBe(life !== 'changing')
  const seconds = {
    changing: 'no-cache',
    package: 'max-age=2592000, immutable',
    addressed: 'max-age=31536000, immutable',
  }
  expect(kind.cacheControl).toContain(seconds[life])
})
