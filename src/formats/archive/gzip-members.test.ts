import { gzipSync } from 'node:zlib'
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isProblem } from '../../domain/problem.ts'
import { gzipMembers } from './gzip-members.ts'

async function* inPieces(data: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size)
}
const NO_LIMIT = { maxOutputBytes: 1e9 }

describe('gzipMembers', () => {
  const contents = [
    Buffer.from('signature'),
    Buffer.from('control'.repeat(100)),
    randomBytes(300_000),
    Buffer.alloc(0),
    Buffer.alloc(500_000),
  ]
  const parts = contents.map((content) => gzipSync(content))
  const whole = Buffer.concat(parts)

  it('finds exact borders and contents for any split of the stream', async () => {
    for (const size of [37, parts[0]!.length, 1000, 65536, whole.length]) {
      let start = 0
      let index = 0
      for await (const member of gzipMembers(inPieces(whole, size), NO_LIMIT)) {
        const pieces: Uint8Array[] = []
        for await (const piece of member.content) pieces.push(piece)
        expect(Buffer.concat(pieces).equals(contents[index]!)).toBe(true)
        expect([member.start, member.end]).toEqual([start, start + parts[index]!.length])
        start = member.end
        index++
      }
      expect(index).toBe(contents.length)
    }
  })

  it('finds borders when bytes come one by one', async () => {
    const small = Buffer.concat([parts[0]!, parts[3]!, parts[1]!])
    const found = await locateGzipMembers(inPieces(small, 1), NO_LIMIT)
    const first = parts[0]!.length
    const second = first + parts[3]!.length
    expect(found.map(({ start, end }) => [start, end])).toEqual([
      [0, first],
      [first, second],
      [second, small.length],
    ])
  })

  it('reads what its caller left, and still verifies it', async () => {
    const starts: number[] = []
    for await (const member of gzipMembers(inPieces(whole, 5000), NO_LIMIT)) {
      starts.push(member.start)
      for await (const _ of member.content) break
    }
    expect(starts).toHaveLength(contents.length)
    const damaged = Buffer.from(whole)
    damaged[parts[0]!.length - 5]! ^= 1
    await expect(locateGzipMembers(inPieces(damaged, 5000), NO_LIMIT)).rejects.toThrow(/damaged/)
  })

  it('passes over names, comments and extra fields of a header', async () => {
    const plain = gzipSync('x')
    const header = Buffer.from([0x1f, 0x8b, 8, 4 | 8 | 16 | 2, 0, 0, 0, 0, 0, 3])
    const fancy = Buffer.concat([
      header,
      Buffer.from([3, 0]),
      Buffer.from('abcname\0comment\0'),
      Buffer.from([0, 0]),
      plain.subarray(10),
    ])
    expect(await locateGzipMembers(inPieces(fancy, 1), NO_LIMIT)).toEqual([
      { start: 0, end: fancy.length, sizeBytes: 1 },
    ])
  })

  it('refuses input cut off at any byte, appended bytes, too much output and too many members', async () => {
    const small = Buffer.concat(parts.slice(0, 2))
    const border = parts[0]!.length
    for (let length = 1; length < small.length; length++) {
      const outcome = await locateGzipMembers(inPieces(small.subarray(0, length), 64), NO_LIMIT).catch(
        (error: unknown) => error,
      )
      if (length !== border) expect(isProblem(outcome, 'invalid_package'), `${length} ${String(outcome)}`).toBe(true)
    }
    await expect(locateGzipMembers(inPieces(Buffer.concat([small, Buffer.from('xx')]), 64), NO_LIMIT)).rejects.toThrow(
      Error,
    )
    await expect(locateGzipMembers(inPieces(Buffer.concat([small, Buffer.alloc(20)]), 64), NO_LIMIT)).rejects.toThrow(
      /other bytes/,
    )
    await expect(locateGzipMembers(inPieces(whole, 64), { maxOutputBytes: 1000 })).rejects.toThrow(
      /unpacks to more than 1,000 bytes/,
    )
    const many = Buffer.concat(Array.from({ length: 65 }, () => gzipSync('')))
    await expect(locateGzipMembers(inPieces(many, 4096), NO_LIMIT)).rejects.toThrow(/too many/)
  })
})

/** The members of a gzip file, each verified; `sizeBytes` counts inflated bytes. */
async function locateGzipMembers(
  source: AsyncIterable<Uint8Array>,
  limits: { maxOutputBytes: number },
): Promise<{ start: number; end: number; sizeBytes: number }[]> {
  const found: { start: number; end: number; sizeBytes: number }[] = []
  for await (const member of gzipMembers(source, limits)) {
    let sizeBytes = 0
    for await (const piece of member.content) sizeBytes += piece.length
    found.push({ start: member.start, end: member.end, sizeBytes })
  }
  return found
}
