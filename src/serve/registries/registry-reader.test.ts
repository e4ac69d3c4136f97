// Documents of names as clients get them: with the address of the repository wherever the file has its mark, whatever pieces it is read in.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BASE, BASE_IN_JSON } from '../../formats/registry-format.ts'
import { encodeListing, listingPath, prepareListing } from '../../store/files/listing-files.ts'
import { createRegistryReader, plainOf, type RegistryReader } from './registry-reader.ts'

const PIECE = 256 * 1024
const AT = 'https://packages.example/npm/team'

let root: string
let reader: RegistryReader
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'registry-reader-'))
  reader = createRegistryReader(root)
})
afterAll(() => rm(root, { recursive: true, force: true }))

async function publish(name: string, texts: Record<string, string>): Promise<string> {
  const documents = Object.entries(texts).map(([form, content]) => ({
    ...{ form, media: 'application/json' },
    bytes: Buffer.from(content),
  }))
  const path = listingPath(root, 'npm/team', name)
  const listing = { name, revision: 1, format: 'npm', modifiedAt: 0, files: {}, documents } as const
  await (await prepareListing(path, encodeListing(listing))).replace()
  return path
}

async function shown(name: string, form: string, base = AT): Promise<string | null> {
  const document = await reader.document('npm/team', name, form, base)
  return document && text(plainOf(document))
}

test.each<[string, string]>([
  ['at the end of a piece', 'x'.repeat(PIECE - BASE_IN_JSON.length)],
  ['in two pieces', 'x'.repeat(PIECE - 3)],
  ['of which the next piece has the last byte', 'x'.repeat(PIECE - BASE_IN_JSON.length + 1)],
  ['at the beginning of a piece', 'x'.repeat(PIECE)],
])('a mark %s becomes the address', async (what, before) => {
  const name = `marked ${what}`
  await publish(name, { full: `${before}${BASE_IN_JSON}/a${BASE_IN_JSON}`, short: `${before}${BASE}/a` })
  // Read after another form, whose bytes are in front.
  expect(await shown(name, 'short')).toBe(`${before}${AT}/a`)
  expect(await shown(name, 'full')).toBe(`${before}${AT}/a${AT}`)
  expect(await shown(name, 'full', 'http://a"b')).toBe(`${before}http://a\\"b/ahttp://a\\"b`)
  expect(await shown(name, 'other')).toBeNull()
})

test('a name that is published again is read again, and its documents have another entity tag', async () => {
  const noise = randomBytes(PIECE).toString('hex')
  await publish('again', { full: noise })
  const [one, same] = [
    await reader.document('npm/team', 'again', 'full', AT),
    await reader.document('npm/team', 'again', 'full', AT),
  ]
  expect(same).toBe(one)
  await publish('again', { full: `${noise} ` })
  const other = await reader.document('npm/team', 'again', 'full', AT)
  expect(other?.etag).not.toBe(one?.etag)
  expect(await shown('again', 'full')).toBe(`${noise} `)
})

test.each<[string, (size: number) => number]>([
  ['the end of its texts', (size) => size - 1],
  ['its head', () => 20],
])('a file that lacks %s is a fault of the storage, not a name that nobody has', async (what, left) => {
  const name = `damaged ${what}`
  const path = await publish(name, { full: 'x'.repeat(100) })
  await truncate(path, left((await stat(path)).size))
  await expect(shown(name, 'full')).rejects.toMatchObject({ code: 'storage_unavailable' })
})
