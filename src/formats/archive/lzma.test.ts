// The xz decoder by itself: how much it decodes at once, which is not visible through the streams that use it.
import lzma from 'lzma-native'
import { describe, expect, it } from 'vitest'
import { unlzma } from './lzma.ts'

const MIB = 1024 * 1024

describe('unlzma', () => {
  it.each(['xz', 'lzma'] as const)('decodes little at a time where %s turns each byte into thousands', async (kind) => {
    const encoder = lzma.createStream(kind === 'xz' ? 'easyEncoder' : 'aloneEncoder', { preset: 1 })
    for (let n = 0; n < 20; n++) encoder.write(Buffer.alloc(MIB))
    encoder.end()
    const packed: Buffer[] = []
    for await (const piece of encoder) packed.push(piece as Buffer)

    // All that one step decoded comes without a turn of the event loop between.
    let atOnce = 0
    let most = 0
    let total = 0
    const immediate = {
      next: setImmediate(function reset() {
        atOnce = 0
        immediate.next = setImmediate(reset)
      }),
    }
    for await (const piece of unlzma([Buffer.concat(packed)] as unknown as AsyncIterable<Uint8Array>, kind)) {
      total += piece.length
      atOnce += piece.length
      most = Math.max(most, atOnce)
    }
    clearImmediate(immediate.next)
    expect(total).toBe(20 * MIB)
    expect(most).toBeLessThan(4 * MIB)
  })
})
