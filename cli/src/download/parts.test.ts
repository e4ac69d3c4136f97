// What indexes of repositories say about one file.
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import {
  apkIndex,
  inApkIndex,
  inPackages,
  inPrimary,
  inRepomd,
  releaseFiles,
  repositoryIn,
  signedText,
} from './parts.ts'

const A = 'a'.repeat(64)
const B = 'b'.repeat(64)

test.each([
  ['# x\nTypes: deb\nURIs: https://apt.example.org/repos\nSuites: noble\n', 'https://apt.example.org/repos'],
  ['[gatehouse]\nname=a\nbaseurl=http://h:8080/repos/el9/$basearch/\n', 'http://h:8080/repos/el9/$basearch'],
  ['https://apk.example.org/apk/v3/main\n', 'https://apk.example.org/apk/v3/main'],
  ['nothing', null],
])('the repository of %j', (content, url) => {
  expect(repositoryIn(content)).toBe(url)
})

test('a Release file inside its signature', () => {
  const text = `Suite: noble\nSHA256:\n ${A}  12 main/binary-amd64/Packages\n ${B} 3 main/binary-amd64/Packages.gz\n`
  const message = `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n${text}-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n`
  expect(releaseFiles(signedText(message))).toEqual([
    { path: 'main/binary-amd64/Packages', sha256: A },
    { path: 'main/binary-amd64/Packages.gz', sha256: B },
  ])
})

test('the index of apt', () => {
  const stanza = (name: string, sha256: string) =>
    `Package: ${name}\nFilename: pool/${name}.deb\nSHA256: ${sha256}\nSHA512: x\n`
  const packages = `${stanza('one', A)}\n${stanza('two', B)}\n`
  expect(inPackages(packages, B)).toBe('pool/two.deb')
  expect(inPackages(packages, 'c'.repeat(64))).toBeNull()
})

test('the indexes of rpm', () => {
  const repomd = `<repomd><data type="other"><checksum type="sha256">${B}</checksum><location href="o"/></data>
<data type="primary"><checksum type="sha256">${A}</checksum><open-checksum type="sha256">${B}</open-checksum><location href="repodata/p&amp;q.xml.gz"/></data></repomd>`
  expect(inRepomd(repomd, 'primary')).toEqual({ path: 'repodata/p&q.xml.gz', sha256: A })
  expect(inRepomd(repomd, 'filelists')).toBeNull()
  const entry = (sha256: string, path: string) =>
    `<package type="rpm"><checksum type="sha256" pkgid="YES">${sha256}</checksum><location href="${path}"/></package>`
  expect(inPrimary(`${entry(A, 'Packages/a.rpm')}${entry(B, 'Packages/b.rpm')}`, B)).toBe('Packages/b.rpm')
  expect(inPrimary(entry(A, 'Packages/a.rpm'), B)).toBeNull()
})

/** A tar member of one file, as far as it is read. */
function tar(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(512)
  head.write(name, 0)
  head.write(content.length.toString(8).padStart(11, '0'), 124)
  return Buffer.concat([head, content, Buffer.alloc((512 - (content.length % 512)) % 512)])
}

test('the index of apk, and its signature', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const index = 'C:Q1x=\nP:hello\nV:1.0-r0\nS:1234\n\nC:Q1y=\nP:other\nV:2\nS:5\n\n'
  const signed = gzipSync(tar('APKINDEX', Buffer.from(index)))
  const signature = sign('sha256', signed, privateKey)
  const found = apkIndex(Buffer.concat([gzipSync(tar('.SIGN.RSA256.gatehouse.rsa.pub', signature)), signed]))
  expect(found?.signed.equals(signed)).toBe(true)
  expect(verify('sha256', found!.signed, publicKey, found!.signature)).toBe(true)
  const text = gunzipSync(found!.signed).toString()
  const hello = { name: 'hello', version: '1.0-r0', size: 1234 }
  expect(inApkIndex(text, hello)).toBe(true)
  for (const other of [{ name: 'other' }, { version: '2' }, { size: 5 }])
    expect(inApkIndex(text, { ...hello, ...other })).toBe(false)
  expect(apkIndex(signed)).toBeNull()
})
