// Reads what npm sends to publish: JSON with the tarball inside, in base64. The tarball passes through as it arrives.
import { invalidField } from '../../domain/problem.ts'
import { isStorable } from '../../domain/storable.ts'
import { pickJson, type Picked, type Wanted } from '../../kernel/pick-json.ts'

/** What the client says about one version. */
export interface SaidVersion {
  version?: string
  name?: string
  deprecated?: string
  integrity?: string
  shasum?: string
}

export interface Said {
  names: string[]
  tags: Map<string, string>
  /** by the key in `versions` */
  versions: Map<string, SaidVersion>
  /** Sigstore bundles that `npm publish --provenance` made, in JSON */
  bundles: string[]
}

export interface Publication {
  /** grows while the body is read: clients may write its parts in any order */
  said: Said
  /** null when the body brings no file; read it to its end */
  tarball: AsyncIterable<Uint8Array> | null
}

/** What is kept besides the tarball: for a name with 10,000 versions 3 MB. */
const MOST_BYTES = 8 * 1024 * 1024
const SAID_OF_VERSION = ['name', 'version', 'deprecated']
const SAID_OF_DIST = ['integrity', 'shasum']

function wantedOf([first = '', second = '', third = '', fourth = '', ...more]: readonly string[]): Wanted {
  if (more.length > 0) return 'nothing'
  if (second === '') return first === '_id' || first === 'name' ? 'whole' : PARTS.includes(first) ? 'inside' : 'nothing'
  if (first === 'dist-tags') return third === '' ? 'whole' : 'nothing'
  if (third === '') return 'inside'
  if (first === '_attachments')
    return third === 'data' && fourth === '' ? (isBundle(second) ? 'whole' : 'pieces') : 'nothing'
  if (third === 'dist') return fourth === '' ? 'inside' : SAID_OF_DIST.includes(fourth) ? 'whole' : 'nothing'
  return fourth === '' && SAID_OF_VERSION.includes(third) ? 'whole' : 'nothing'
}

const PARTS = ['dist-tags', 'versions', '_attachments']
/** The other kind of attachment is the tarball. */
const isBundle = (attachment: string) => attachment.endsWith('.sigstore')

/** Reads up to the first byte of the tarball, or to the end. @throws Problem('validation_error') */
export async function readPublication(body: AsyncIterable<Uint8Array>): Promise<Publication> {
  const said: Said = { names: [], tags: new Map(), versions: new Map(), bundles: [] }
  const picked = pickJson(body, wantedOf, MOST_BYTES)
  const first = await nextPiece(picked, said)
  if (!first && said.names.length === 0) throw invalidField('body', 'is no description of a package')
  return { said, tarball: first && fromBase64(piecesFrom(first, picked, said)) }
}

type Piece = Extract<Picked, { piece: Buffer }>

async function nextPiece(picked: AsyncGenerator<Picked, void>, said: Said): Promise<Piece | null> {
  for (;;) {
    const { done, value } = await picked.next()
    if (done) return null
    if ('piece' in value) return value
    note(said, value.path, value.value)
  }
}

async function* piecesFrom(first: Piece, picked: AsyncGenerator<Picked, void>, said: Said): AsyncGenerator<Buffer> {
  try {
    for (let one: Piece | null = first; one; one = await nextPiece(picked, said)) {
      if (one.path[1] !== first.path[1]) throw invalidField('_attachments', 'has more than one file')
      yield one.piece
    }
  } finally {
    await picked.return()
  }
}

function note(said: Said, [first, key = '', ...inner]: readonly string[], value: unknown): void {
  if (typeof value !== 'string' || !isStorable(value)) throw invalidField([first, key].join('.'), 'is not a text')
  if (first === 'dist-tags') said.tags.set(key, value)
  else if (first === '_attachments') said.bundles.push(value)
  else if (first === 'versions') {
    const version = said.versions.get(key) ?? {}
    said.versions.set(key, { ...version, [inner.at(-1) as keyof SaidVersion]: value })
  } else said.names.push(value)
}

async function* fromBase64(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = ''
  for await (const piece of pieces) {
    const text = rest + piece.toString('latin1')
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw notBase64()
    const end = text.length - (text.length % 4)
    rest = text.slice(end)
    if (end > 0) yield Buffer.from(text.slice(0, end), 'base64')
  }
  if (rest !== '') throw notBase64()
}

const notBase64 = () => invalidField('_attachments', 'has a file that is not base64')
