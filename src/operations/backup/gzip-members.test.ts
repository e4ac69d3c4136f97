// Members with different levels form one gzip file, for our reader and for gzip itself.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { gzipMembers } from './gzip-members.ts'

const text = Buffer.alloc(200_000, 'the same text again ')
const noise = randomBytes(200_000)

async function compressed(parts: [level: number, bytes: Buffer][]): Promise<Buffer> {
  let level = -1
  const chunks = (async function* () {
    for (const [of, bytes] of parts) {
      level = of
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
    }
  })()
  const out: Buffer[] = []
  for await (const chunk of gzipMembers(chunks, () => level)) out.push(chunk)
  return Buffer.concat(out)
}

test.each<[string, [number, Buffer][], members: number]>([
  [
    'one level',
    [
      [1, text],
      [1, noise],
    ],
    1,
  ],
  [
    'stored between compressed',
    [
      [1, text],
      [0, noise],
      [1, text],
    ],
    3,
  ],
  [
    'stored first',
    [
      [0, noise],
      [1, text],
    ],
    2,
  ],
])('%s', async (_, parts, members) => {
  const file = await compressed(parts)
  const wanted = Buffer.concat(parts.map(([, bytes]) => bytes))
  expect(gunzipSync(file).equals(wanted)).toBe(true)
  expect(execFileSync('gzip', ['-dc'], { input: file, maxBuffer: 10_000_000 }).equals(wanted)).toBe(true)
  // ID1 ID2 CM, then no flags: random data of this size contains these bytes with a chance of 1 to 20,000.
  expect(file.toString('latin1').split('\x1f\x8b\x08\x00\x00\x00\x00\x00').length - 1).toBe(members)
  expect(file.length).toBeLessThan(wanted.length)
})

test('an error of what is compressed reaches who reads, and the file is not whole', async () => {
  const broken = (async function* () {
    yield text
    throw new Error('the disk is gone')
  })()
  const reading = (async () => {
    for await (const _ of gzipMembers(broken, () => 1));
  })()
  await expect(reading).rejects.toThrow('the disk is gone')
})

test('nothing has no member', async () => {
  expect(await compressed([])).toEqual(Buffer.alloc(0))
})
