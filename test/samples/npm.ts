// Tarballs of npm packages, as `npm pack` lays them out, or against its rules.
import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pack, type Header } from 'tar-stream'

export interface SampleNpm {
  name?: string
  version?: string
  /** further fields of package.json */
  fields?: Record<string, unknown>
  /** by path inside the package */
  files?: Record<string, string>
  /** entries as they are, in front of the others */
  entries?: (Partial<Header> & { name: string; content?: string })[]
  directory?: string
}

export async function buildNpm({
  name = 'lib',
  version = '1.0.0',
  fields = {},
  files = { 'index.js': 'module.exports = 1\n' },
  entries = [],
  directory = 'package',
}: SampleNpm = {}): Promise<Buffer> {
  const tar = pack()
  for (const { content = '', ...header } of entries) tar.entry(header, content)
  const all = { 'package.json': JSON.stringify({ name, version, ...fields }), ...files }
  for (const [path, content] of Object.entries(all)) tar.entry({ name: `${directory}/${path}` }, content)
  tar.finalize()
  return gzipSync(await buffer(tar))
}

export interface PublishedNpm {
  name: string
  version: string
  tarball: Buffer
  /** `latest` by default */
  tag?: string
  /** replaces fields of what npm would send */
  change?: (body: Record<string, any>) => void
}

/** The body that npm sends to publish a tarball. */
export function publishBody({ name, version, tarball, tag = 'latest', change = () => {} }: PublishedNpm): Buffer {
  const digest = (algorithm: string) => createHash(algorithm).update(tarball)
  const filename = `${name}-${version}.tgz`
  const body = {
    _id: name,
    name,
    'dist-tags': { [tag]: version },
    versions: {
      [version]: {
        ...{ name, version, _id: `${name}@${version}` },
        dist: {
          integrity: `sha512-${digest('sha512').digest('base64')}`,
          shasum: digest('sha1').digest('hex'),
          tarball: `http://other.test/${name}/-/${filename}`,
        },
      },
    },
    access: 'public',
    _attachments: {
      [filename]: {
        content_type: 'application/octet-stream',
        data: tarball.toString('base64'),
        length: tarball.byteLength,
      },
    },
  }
  change(body)
  return Buffer.from(JSON.stringify(body))
}
