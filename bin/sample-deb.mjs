// Makes a small .deb with Node alone: ar (deb(5)) with two gzipped ustar archives.
// Usage: node bin/sample-deb.mjs <name> <version>, which writes <name>_<version>_all.deb
import { realpathSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** @param {{ name: string, content?: string, mode?: number, type?: string }[]} files */
function tar(files) {
  /** @type {Buffer[]} */
  const blocks = []
  for (const { name, content = '', mode = 0o644, type = '0' } of files) {
    const body = Buffer.from(content)
    const header = Buffer.alloc(512)
    /** @param {string} text @param {number} at @param {number} length */
    const field = (text, at, length) => header.write(text.padEnd(length, '\0'), at, length, 'latin1')
    /** @param {number} value @param {number} at @param {number} length */
    const octal = (value, at, length) => field(`${value.toString(8).padStart(length - 1, '0')}\0`, at, length)
    field(name, 0, 100)
    octal(mode, 100, 8)
    octal(0, 108, 8)
    octal(0, 116, 8)
    octal(body.length, 124, 12)
    octal(0, 136, 12)
    header.fill(' ', 148, 156)
    field(type, 156, 1)
    field('ustar\x0000', 257, 8)
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      148,
      7,
    )
    blocks.push(header, body, Buffer.alloc((512 - (body.length % 512)) % 512))
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

/** @param {[name: string, body: Buffer][]} members */
function ar(members) {
  /** @type {Uint8Array[]} */
  const parts = [Buffer.from('!<arch>\n')]
  for (const [name, body] of members) {
    const fields = [
      name.padEnd(16),
      '0'.padEnd(12),
      '0'.padEnd(6),
      '0'.padEnd(6),
      '100644'.padEnd(8),
      String(body.length).padEnd(10),
      '`\n',
    ]
    parts.push(Buffer.from(fields.join('')), body, Buffer.alloc(body.length % 2, '\n'))
  }
  return Buffer.concat(parts)
}

/**
 * @param {{ name: string, version: string, description: string }} facts
 * @returns the bytes of the package
 */
export function sampleDeb({ name, version, description }) {
  const control = [
    `Package: ${name}`,
    `Version: ${version}`,
    'Architecture: all',
    'Maintainer: Gatehouse <root@localhost>',
    'Section: misc',
    'Priority: optional',
    `Description: ${description}`,
    '',
  ]
  return ar([
    ['debian-binary', Buffer.from('2.0\n')],
    [
      'control.tar.gz',
      gzipSync(
        tar([
          { name: './', type: '5', mode: 0o755 },
          { name: './control', content: control.join('\n') },
        ]),
      ),
    ],
    [
      'data.tar.gz',
      gzipSync(
        tar([
          ...['./', './usr/', './usr/share/', './usr/share/doc/', `./usr/share/doc/${name}/`].map((path) => ({
            name: path,
            type: '5',
            mode: 0o755,
          })),
          { name: `./usr/share/doc/${name}/README`, content: `${description}\n` },
        ]),
      ),
    ],
  ])
}

const [, script = '', name, version] = process.argv
if (name && version && realpathSync(script) === fileURLToPath(import.meta.url))
  writeFileSync(`${name}_${version}_all.deb`, sampleDeb({ name, version, description: 'a first package' }))
