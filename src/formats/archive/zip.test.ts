import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zip } from './zip.fixture.ts'
import { zipEntries } from './zip.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-zip-'))
})
afterAll(() => rm(directory, { recursive: true }))

const FILES = [
  ['a.json', Buffer.from('{"a":1}'.repeat(100))],
  ['d/', Buffer.alloc(0)],
  ['d/b.json', Buffer.from('é')],
  ['empty', Buffer.alloc(0)],
] as const

async function readAll(bytes: Buffer, largest = 1000): Promise<[string, string][]> {
  const path = join(directory, 'x.zip')
  await writeFile(path, bytes)
  const files: [string, string][] = []
  for await (const entry of zipEntries(path, largest)) files.push([entry.name, (await entry.read()).toString()])
  return files
}
const expected = FILES.filter(([name]) => !name.endsWith('/')).map(([name, content]) => [name, content.toString()])

test.each([
  ['deflated', {}],
  ['stored', { stored: true }],
  ['with 64-bit sizes', { zip64: true }],
])('%s entries are read, directories left out', async (_how, options) => {
  expect(await readAll(zip(FILES, options))).toEqual(expected)
})

test('a comment after the end does not hide the directory', async () => {
  const archive = zip(FILES)
  archive.writeUInt16LE(300, archive.length - 2)
  expect(await readAll(Buffer.concat([archive, Buffer.alloc(300, 'x')]))).toEqual(expected)
})

describe('an archive is refused', () => {
  const whole = zip(FILES)
  const first = whole.indexOf('a.json')
  const changed = (at: number, value: number) => {
    const copy = Buffer.from(whole)
    copy[at] = value
    return copy
  }
  const central = whole.indexOf('PK\x01\x02')
  test.each([
    ['that is empty', Buffer.alloc(0), /not a zip archive/],
    ['that is something else', Buffer.from('<html>not found</html>'.repeat(20)), /not a zip archive/],
    ['cut short', whole.subarray(0, whole.length - 30), /not a zip archive/],
    ['whose head is missing', whole.subarray(50), /cut short|broken|not where/],
    ['with a changed byte', changed(first + 8, 0x55), /damaged|decompressed/],
    ['with a wrong checksum', changed(central + 16, whole[central + 16]! ^ 1), /damaged/],
    ['with an encrypted entry', changed(central + 8, 1), /encrypted/],
    ['with an unknown compression', changed(central + 10, 12), /unknown way/],
    ['that grows beyond its stated size', changed(central + 24, 3), /decompressed|damaged|impossible/],
    ['that packs more than it holds', changed(central + 22, 0x7f), /impossible/],
    ['with more entries than it says', changed(whole.length - 12, 1), /does not hold as many/],
  ])('%s', async (_what, bytes, message) => {
    await expect(readAll(bytes)).rejects.toThrow(message)
  })
  test('with an entry larger than allowed', () => expect(readAll(whole, 100)).rejects.toThrow(/larger than 100/))
})
