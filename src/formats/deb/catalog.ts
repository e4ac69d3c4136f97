// Reads an apt repository: the signed Release, and the stanzas of its Packages files.
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { leftBehind, type NotCarried } from '../../domain/not-carried.ts'
import { isProblem } from '../../domain/problem.ts'
import { createPacer } from '../../kernel/pacer.ts'
import {
  refused,
  type CatalogItem,
  type CatalogReader,
  type FileDigest,
  type RepositoryIndex,
  type RepositoryIo,
  type RepositoryRequest,
} from '../catalog.ts'
import { indexContent } from '../index-content.ts'
import { decodeControl, fieldOf, parseControl, type ControlField } from './control.ts'
import { factsOf } from './read.ts'
import { checkSuite, dateOf, packagesIndex, parseRelease, type Release } from './release.ts'

/** Debian's has 150 KB, Ubuntu's 280 KB. Verifying 512 KiB holds the event loop for 40 ms. */
const MOST_RELEASE_BYTES = 512 * 1024
const MOST_SIGNATURE_BYTES = 64 * 1024
/** The longest of Debian 12 has 80 KB (librust-winapi-dev). */
const MOST_STANZA_BYTES = 1024 * 1024

export const catalog: CatalogReader = {
  async describe(request, io) {
    const { suite } = request
    if (!suite) throw refused('malformed', 'an apt source needs a suite')
    const directory = suite.endsWith('/') ? posix.normalize(suite) : `dists/${suite}`
    const found = await readRelease(directory, io)
    if (found === 'unchanged') return found
    const { name, text, signedBy } = found
    const release = parseRelease(text, name)
    checkSuite(release, suite, name)
    return {
      date: dateOf(release, 'Date', name),
      validUntil: dateOf(release, 'Valid-Until', name),
      signedBy,
      indexes: indexesOf(release, directory, request, name),
      notCarried: suite.endsWith('/') ? [] : notCarried(release, request),
    }
  },

  async *records(file, index) {
    const pace = createPacer()
    for await (const stanza of stanzas(indexContent(file, index), index.name)) {
      yield { content: stanza, read: () => readStanza(stanza, index.name) }
      await pace()
    }
  },
}

/** InRelease or, if it is missing, Release with Release.gpg. */
async function readRelease(
  directory: string,
  io: RepositoryIo,
): Promise<'unchanged' | { name: string; text: string; signedBy: string[] }> {
  const inline = posix.join(directory, 'InRelease')
  const one = await io.roots([inline], MOST_RELEASE_BYTES)
  if (one === 'unchanged') return one
  if (one[0]) {
    const { text, signedBy } = await io.verifyCleartext(await readFile(one[0].path), inline)
    return { name: inline, text, signedBy }
  }
  const name = posix.join(directory, 'Release')
  const two = await io.roots([name], MOST_RELEASE_BYTES)
  if (two === 'unchanged') return two
  if (!two[0]) throw refused('missing', `the source has neither ${inline} nor ${name}`)
  const content = await readFile(two[0].path)
  const signature = io.signed ? await io.small(`${name}.gpg`, MOST_SIGNATURE_BYTES) : null
  if (io.signed && !signature) throw refused('unsigned', `${name} is not signed: ${name}.gpg is missing`)
  const signedBy = signature ? await io.verifyDetached(content, signature, name) : []
  return { name, text: content.toString('utf8'), signedBy }
}

function indexesOf(
  release: Release,
  directory: string,
  { suite, components, architectures }: RepositoryRequest,
  name: string,
): RepositoryIndex[] {
  const need = (below: string) => {
    const index = packagesIndex(release, directory, below)
    if (!index) throw refused('missing', `${name} lists no ${posix.join(below, 'Packages')} with a SHA-256 digest`)
    return index
  }
  if (suite?.endsWith('/')) return [need('')]
  if (components.length === 0 || architectures.length === 0)
    throw refused('malformed', 'an apt source needs a component and an architecture')
  const words = wordsOf(release)
  // Unless the Release says otherwise, the index of each architecture also has the packages for all of them.
  const isApart =
    words('architectures').includes('all') && !words('no-support-for-architecture-all').includes('Packages')
  return components.flatMap((component) => {
    const below = (arch: string) => `${component}/binary-${arch}`
    const all = isApart ? packagesIndex(release, directory, below('all')) : null
    return [...servedOf(release, architectures).map((arch) => need(below(arch))), ...(all ? [all] : [])]
  })
}

const wordsOf =
  ({ fields }: Release) =>
  (field: string) =>
    fields.get(field)?.split(/\s+/).filter(Boolean) ?? []

/** A source may name more architectures than its repository has, for example those of its target. At least one must exist. */
function servedOf(release: Release, architectures: readonly string[]): readonly string[] {
  const declared = wordsOf(release)('architectures')
  const served = architectures.filter((arch) => declared.includes(arch))
  return served.length > 0 ? served : architectures
}

function notCarried(release: Release, { components, architectures }: RepositoryRequest): NotCarried[] {
  const words = wordsOf(release)
  return [
    ...leftBehind(
      'architectures',
      words('architectures').filter((arch) => !['all', 'source', ...architectures].includes(arch)),
    ),
    ...leftBehind(
      'components',
      words('components').filter((component) => !components.includes(component)),
    ),
  ]
}

const BLANK = Buffer.from('\n\n')

/** The paragraphs of a deb822 file. */
async function* stanzas(content: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of content) {
    rest = Buffer.concat([rest, piece])
    let start = 0
    for (let end = rest.indexOf(BLANK); end !== -1; end = rest.indexOf(BLANK, start)) {
      if (end - start > MOST_STANZA_BYTES) throw tooLong(name)
      if (end > start) yield rest.subarray(start, end + 1)
      start = end + BLANK.length
    }
    rest = rest.subarray(start)
    if (rest.length > MOST_STANZA_BYTES) throw tooLong(name)
  }
  if (rest.length > 1) yield rest
}

const tooLong = (name: string) => refused('malformed', `${name} has a stanza of more than ${MOST_STANZA_BYTES} bytes`)

function readStanza(stanza: Buffer, index: string): CatalogItem {
  const text = decodeControl(stanza)
  const name = /^Package: *(\S{1,200})/m.exec(text)?.[1] ?? null
  let fields: ControlField[]
  let facts
  try {
    fields = parseControl(text)
    facts = factsOf(fields)
  } catch (error) {
    if (isProblem(error, 'invalid_package')) return { name, unreadable: error.detail }
    throw error
  }
  const what = `${index}: the stanza of ${name ?? 'a package'}`
  const path = fieldOf(fields, 'Filename')
  const size = fieldOf(fields, 'Size')
  if (!path) throw refused('malformed', `${what} has no Filename`)
  if (!size || !/^[0-9]{1,15}$/.test(size)) throw refused('malformed', `${what} has no Size`)
  const { signatures: _signatures, record: _record, ...stated } = facts
  return { ...stated, path: path.replace(/^(?:\.\/)+/, ''), sizeBytes: Number(size), digest: digestOf(fields, what) }
}

function digestOf(fields: readonly ControlField[], what: string): FileDigest {
  for (const [algorithm, digits] of [
    ['sha256', 64],
    ['sha512', 128],
  ] as const) {
    const hex = fieldOf(fields, algorithm)?.toLowerCase()
    if (hex?.length === digits && /^[0-9a-f]+$/.test(hex)) return { algorithm, hex }
  }
  throw refused('malformed', `${what} has no SHA256; MD5 and SHA-1 are not accepted`)
}
