// Reads an rpm repository: the signed repomd.xml, and the packages of its primary.xml.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createPacer } from '../../kernel/pacer.ts'
import {
  refused,
  type CatalogItem,
  type CatalogReader,
  type CatalogRecord,
  type RepositoryRequest,
} from '../catalog.ts'
import { indexContent } from '../index-content.ts'
import { besidePackages } from './beside-packages.ts'
import { readMirrors } from './mirrors.ts'
import { createPrimaryHandler } from './primary.ts'
import { parseRepomd } from './repomd.ts'
import { createXmlReader } from './xml-reader.ts'

const REPOMD = 'repodata/repomd.xml'
/** Fedora's has 5 KB; even with entries for many groups and zchunk files it stays below 20 KB. */
const MOST_REPOMD_BYTES = 512 * 1024
const MOST_SIGNATURE_BYTES = 64 * 1024
/** Characters that are parsed between two turns of the event loop: 64 Ki take 2 ms. */
const PIECE_BYTES = 64 * 1024

export const catalog: CatalogReader = {
  mayBeElsewhere: true,
  pathsAreEncoded: true,

  async describe({ expected }, io) {
    const roots = await io.roots([REPOMD], MOST_REPOMD_BYTES)
    if (roots === 'unchanged') return roots
    if (!roots[0]) throw refused('missing', `the source has no ${REPOMD}`)
    const content = await readFile(roots[0].path)
    checkExpected(content, expected)
    const signature = io.signed ? await io.small(`${REPOMD}.asc`, MOST_SIGNATURE_BYTES) : null
    // Fedora and others sign their packages, not their indexes.
    if (io.signed && !signature && !io.mayBeUnsigned)
      throw refused('unsigned', `${REPOMD} is not signed: ${REPOMD}.asc is missing`)
    const signedBy = signature ? await io.verifyDetached(content, signature, REPOMD) : []
    const files = parseRepomd(content.toString('utf8'), REPOMD)
    const primary = files.find(({ type }) => type === 'primary')
    if (!primary) throw refused('missing', `${REPOMD} lists no primary`)
    const { path, digest, sizeBytes, openSizeBytes } = primary
    if (!digest) throw refused('malformed', `${REPOMD} lists no SHA-256 of primary; MD5 and SHA-1 are not accepted`)
    if (sizeBytes === null) throw refused('malformed', `${REPOMD} lists no size of primary`)
    const newest = Math.max(...files.map(({ timestamp }) => timestamp ?? 0))
    return {
      date: newest > 0 && newest < 1e11 ? new Date(newest * 1000) : null,
      validUntil: null,
      signedBy,
      indexes: [
        { name: path, arch: null, from: [{ paths: [path], sizeBytes, isSizeGuess: true, digest }], openSizeBytes },
      ],
      notCarried: await besidePackages(files, io),
    }
  },

  async *records(file, index) {
    const pace = createPacer()
    const found: CatalogItem[] = []
    const reader = createXmlReader(
      index.name,
      createPrimaryHandler(index.name, (item) => found.push(item)),
    )
    const decoder = new TextDecoder('utf-8', { fatal: true })
    const decode = (piece?: Uint8Array) => {
      try {
        return piece ? decoder.decode(piece, { stream: true }) : decoder.decode()
      } catch (error) {
        throw refused('malformed', `${index.name} is not encoded in UTF-8`, error)
      }
    }
    for await (const piece of indexContent(file, index)) {
      for (let at = 0; at < piece.length; at += PIECE_BYTES) {
        reader.write(decode(piece.subarray(at, at + PIECE_BYTES)))
        yield* found.splice(0).map(parsed)
        await pace()
      }
    }
    reader.write(decode())
    reader.end()
    yield* found.splice(0).map(parsed)
  },

  readMirrors,
}

/** An XML document is parsed to find where its records end. */
const parsed = (item: CatalogItem): CatalogRecord => ({ content: JSON.stringify(item), read: () => item })

/** A metalink comes from another host than the mirror, so its digest reveals a mirror that is outdated or was changed. */
function checkExpected(content: Buffer, expected: RepositoryRequest['expected']): void {
  const fits = expected?.some(
    ({ sizeBytes, digest: { algorithm, hex } }) =>
      (sizeBytes === null || sizeBytes === content.length) &&
      createHash(algorithm).update(content).digest('hex') === hex,
  )
  if (fits === false) throw refused('malformed', `${REPOMD} is not the one that the metalink describes`)
}
