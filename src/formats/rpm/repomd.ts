// repomd.xml: the files of an rpm repository, with sizes and digests (http://createrepo.baseurl.org).
import { refused, type FileDigest } from '../catalog.ts'
import { createXmlReader } from './xml-reader.ts'

export interface RepomdFile {
  type: string
  /** relative to the repository */
  path: string
  sizeBytes: number | null
  openSizeBytes: number | null
  digest: FileDigest | null
  /** seconds since 1970 */
  timestamp: number | null
}

const DIGITS: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 }

/** A digest as the documents of rpm repositories write it; null for an algorithm that is not accepted. */
export function digestOf(algorithm: string | undefined, hex: string): FileDigest | null {
  const found = hex.trim().toLowerCase()
  const isKnown = algorithm !== undefined && Object.hasOwn(DIGITS, algorithm) && found.length === DIGITS[algorithm]
  return isKnown && /^[0-9a-f]+$/.test(found) ? { algorithm: algorithm as FileDigest['algorithm'], hex: found } : null
}

/** @throws Problem('upstream_error') */
export function parseRepomd(text: string, document: string): RepomdFile[] {
  const files: RepomdFile[] = []
  let file: RepomdFile | null = null
  let collected = ''
  let checksum: string | undefined
  const path: string[] = []
  const reader = createXmlReader(document, {
    open(name, attributes) {
      path.push(name)
      collected = ''
      if (path.length === 1 && name !== 'repomd') throw refused('malformed', `${document} is no repomd.xml`)
      if (path.length === 2 && name === 'data') {
        file = {
          type: attributes.get('type') ?? '',
          path: '',
          sizeBytes: null,
          openSizeBytes: null,
          digest: null,
          timestamp: null,
        }
      }
      if (!file || path.length !== 3) return
      if (name === 'checksum') checksum = attributes.get('type')
      if (name !== 'location') return
      if (attributes.has('xml:base')) throw refused('path', `${document} names a file outside its tree`)
      file.path = attributes.get('href') ?? ''
    },
    text(piece) {
      if (collected.length < 1024) collected += piece
    },
    close(name) {
      if (file && path.length === 3) {
        if (name === 'checksum') file.digest = digestOf(checksum, collected)
        if (name === 'size') file.sizeBytes = numberOf(collected)
        if (name === 'open-size') file.openSizeBytes = numberOf(collected)
        if (name === 'timestamp') file.timestamp = numberOf(collected.replace(/\.[0-9]*\s*$/, ''))
      }
      path.pop()
      if (file && path.length === 1) {
        files.push(file)
        file = null
      }
    },
  })
  reader.write(text)
  reader.end()
  return files
}

function numberOf(text: string): number | null {
  return /^\s*[0-9]{1,15}\s*$/.test(text) ? Number(text) : null
}
