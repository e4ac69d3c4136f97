// The files of a project as an index of others lists them: JSON (PEP 691), or an HTML page with one link for each (PEP 503).
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { isObject, stringAt } from '../../domain/json.ts'
import { isProblem } from '../../domain/problem.ts'
import { pickJson, type Wanted } from '../../kernel/pick-json.ts'
import { readPiece } from '../archive/file-range.ts'
import { refused } from '../catalog.ts'
import { canonicalName } from './names.ts'

/** A file as it is listed; nothing of it is checked. */
export interface Link {
  filename: string
  /** may be relative */
  url: string
  sha256: string | null
  sizeBytes: number | null
  requiresPython: string | null
  uploadedAt: string | null
  /** why; null for a file that is not yanked */
  yanked: string | null
  metadataSha256: string | null
  /** where its attestations are; may be relative */
  provenance: string | null
}

/** The nightly builds of large projects have 20,000. */
const MOST_LINKS = 60_000
/** What is picked of a list, in total. */
const MOST_BYTES = 100 * 1024 * 1024
/** Pages are read as one text. */
const MOST_PAGE_BYTES = 20 * 1024 * 1024

/** @throws Problem('upstream_error') */
export async function linksOf(path: string, name: string): Promise<Link[]> {
  const head = (await readPiece(path, 0, 512)).toString('latin1').trimStart()
  if (head.startsWith('<')) return inPage(path)
  if (head.startsWith('{')) return inJson(path, name)
  throw refused('malformed', 'its list is neither JSON nor a page')
}

async function inJson(path: string, name: string): Promise<Link[]> {
  const links: Link[] = []
  const want = ([first, second, third]: readonly string[]): Wanted => {
    if (second === undefined)
      return first === 'files' ? 'inside' : first === 'meta' || first === 'name' ? 'whole' : 'nothing'
    return first === 'files' && third === undefined ? 'whole' : 'nothing'
  }
  try {
    for await (const picked of pickJson(createReadStream(path, { highWaterMark: 256 * 1024 }), want, MOST_BYTES)) {
      if (!('value' in picked)) continue
      const { path: at, value } = picked
      if (at[0] === 'files') add(links, linkOf(value))
      else requireKnown(at[0]!, value, name)
    }
  } catch (error) {
    throw isProblem(error, 'validation_error')
      ? refused('malformed', `its list cannot be read: ${error.detail}`)
      : error
  }
  return links
}

/** Another project, or a version of the interface that may mean something else. */
function requireKnown(key: string, value: unknown, name: string): void {
  if (key === 'name' && (typeof value !== 'string' || canonicalName(value) !== name))
    throw refused('malformed', 'its list is that of another project')
  const version = key === 'meta' && isObject(value) ? value['api-version'] : undefined
  if (version !== undefined && !(typeof version === 'string' && /^1\.\d+$/.test(version)))
    throw refused('malformed', 'its list has a version of the Simple API that is not 1.x')
}

function add(links: Link[], link: Link | null): void {
  if (!link) return
  if (links.length === MOST_LINKS) throw refused('malformed', `it lists more than ${MOST_LINKS} files`)
  links.push(link)
}

function linkOf(value: unknown): Link | null {
  if (!isObject(value)) return null
  const { filename, url, hashes, size, yanked } = value
  if (typeof filename !== 'string' || typeof url !== 'string') return null
  const metadata = value['core-metadata'] ?? value['dist-info-metadata']
  const sha256In = (of: unknown) => (isObject(of) ? (stringAt(of, 'sha256')?.toLowerCase() ?? null) : null)
  return {
    ...{ filename, url, sha256: sha256In(hashes), metadataSha256: sha256In(metadata) },
    sizeBytes: Number.isSafeInteger(size) && (size as number) >= 0 ? (size as number) : null,
    requiresPython: stringAt(value, 'requires-python'),
    uploadedAt: stringAt(value, 'upload-time'),
    yanked: yanked === true ? '' : typeof yanked === 'string' ? yanked : null,
    provenance: stringAt(value, 'provenance'),
  }
}

async function inPage(path: string): Promise<Link[]> {
  if ((await stat(path)).size > MOST_PAGE_BYTES)
    throw refused('too_large', `its list is a page of more than ${MOST_PAGE_BYTES} bytes`)
  const links: Link[] = []
  // No attribute has a link inside: each piece is read alone, which keeps hostile pages linear.
  for (const piece of (await readFile(path, 'utf8')).split(/<a(?=\s)/i).slice(1)) add(links, anchorOf(piece))
  // The page of a sign-in must not take the place of a list.
  if (links.length === 0) throw refused('malformed', 'its list is a page without links')
  return links
}

const ATTRIBUTE = /\s+([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/y

function anchorOf(piece: string): Link | null {
  const attributes = new Map<string, string>()
  let end = 0
  ATTRIBUTE.lastIndex = 0
  for (let found = ATTRIBUTE.exec(piece); found; found = ATTRIBUTE.exec(piece)) {
    const [, key = '', double, single, bare = ''] = found
    attributes.set(key.toLowerCase(), unescaped(double ?? single ?? bare))
    end = ATTRIBUTE.lastIndex
  }
  const text = /^\s*>([^<]*)</.exec(piece.slice(end))?.[1]
  const href = attributes.get('href')
  if (text === undefined || href === undefined) return null
  const [url = '', fragment = ''] = href.split('#', 2)
  const sha256In = (said = '') => /^sha256=([0-9a-f]{64})$/i.exec(said)?.[1]?.toLowerCase() ?? null
  return {
    ...{ filename: unescaped(text).trim(), url, sha256: sha256In(fragment), sizeBytes: null, uploadedAt: null },
    requiresPython: attributes.get('data-requires-python') || null,
    yanked: attributes.get('data-yanked') ?? null,
    metadataSha256: sha256In(attributes.get('data-core-metadata') ?? attributes.get('data-dist-info-metadata')),
    provenance: attributes.get('data-provenance') || null,
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const unescaped = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,4}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole
      const code = decimal === undefined ? parseInt(hex!, 16) : Number(decimal)
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    },
  )
