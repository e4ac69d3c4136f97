// Where an rpm repository is mirrored: a metalink (RFC 5854's older form, as Fedora writes it) or a list of addresses.
import { refused, type MirrorList, type RepositoryRequest } from '../catalog.ts'
import { digestOf } from './repomd.ts'
import { createXmlReader } from './xml-reader.ts'

const REPOMD = /repodata\/repomd\.xml$/

/** @throws Problem('upstream_error') */
export function readMirrors(kind: 'metalink' | 'mirrorlist', document: string): MirrorList {
  return kind === 'metalink' ? readMetalink(document) : { bases: readList(document), expected: null }
}

function readList(document: string): string[] {
  return document
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^https?:\/\/\S+$/.test(line))
    .map((line) => line.replace(/\/?$/, '/'))
}

/**
 * The addresses of repomd.xml, and its digests: the newest one, and older ones that mirrors may still have. Only http and
 * https addresses are used.
 */
function readMetalink(document: string): MirrorList {
  const urls: { base: string; preference: number }[] = []
  const expected: NonNullable<RepositoryRequest['expected']>[number][] = []
  const path: string[] = []
  let collected = ''
  let attributes: ReadonlyMap<string, string> = new Map()
  let size: number | null = null
  let isRepomd = false
  const reader = createXmlReader('the metalink', {
    open(name, given) {
      path.push(name)
      collected = ''
      attributes = given
      if (path.length === 1 && name !== 'metalink') throw refused('malformed', 'the metalink is another document')
      if (name === 'file') isRepomd = given.get('name') === 'repomd.xml'
      if (name === 'file' || name === 'mm0:alternate') size = null
    },
    text(piece) {
      if (collected.length < 4096) collected += piece
    },
    close(name) {
      path.pop()
      if (!isRepomd) return
      if (name === 'size' && /^[0-9]{1,15}$/.test(collected.trim())) size = Number(collected)
      if (name === 'hash') {
        const digest = digestOf(attributes.get('type'), collected)
        if (digest) expected.push({ sizeBytes: size, digest })
      }
      if (name === 'url' && /^https?:\/\//.test(collected.trim()) && REPOMD.test(collected.trim()))
        urls.push({ base: collected.trim().replace(REPOMD, ''), preference: Number(attributes.get('preference')) || 0 })
    },
  })
  reader.write(document)
  reader.end()
  if (expected.length === 0) throw refused('malformed', 'the metalink states no SHA-256 of repomd.xml')
  return { bases: urls.sort((a, b) => b.preference - a.preference).map(({ base }) => base), expected }
}
