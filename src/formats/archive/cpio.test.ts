import { describe, expect, it } from 'vitest'
import { isProblem } from '../../domain/problem.ts'
import { buildCpio, cpioEntry, strippedCpioEntry } from '../../../test/samples/cpio.ts'
import { readCpio, type CpioOptions } from './cpio.ts'

async function list(data: Uint8Array, options?: CpioOptions, size = 7): Promise<string[]> {
  const found: string[] = []
  async function* source() {
    for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size)
  }
  for await (const entry of readCpio(source(), options)) {
    let content = ''
    for await (const piece of entry.content) content += Buffer.from(piece).toString()
    found.push(`${entry.fileIndex ?? entry.name} ${content}`)
  }
  return found
}

const trailer = cpioEntry({ name: 'TRAILER!!!' })

describe('readCpio', () => {
  it('reads entries for any split of the stream, and zero bytes after the trailer', async () => {
    const data = Buffer.concat([
      buildCpio([
        { name: './a', content: 'one' },
        { name: './dir', mode: 0o40755 },
        { name: 'bb', content: 'four' },
      ]),
      Buffer.alloc(300),
    ])
    for (const size of [1, 110, 4096]) expect(await list(data, {}, size)).toEqual(['./a one', './dir ', 'bb four'])
  })

  it('reads entries that rpm stripped, with sizes from its header', async () => {
    const data = Buffer.concat([strippedCpioEntry(1, 'hello'), strippedCpioEntry(0, 'abc'), trailer])
    const sizes = [3, 5]
    expect(await list(data, { strippedSize: (index) => sizes[index] })).toEqual(['1 hello', '0 abc'])
  })

  it.each<[string, Buffer]>([
    ['no trailer', cpioEntry({ name: 'a', content: 'x' })],
    ['another magic', Buffer.from(buildCpio([]).toString('latin1').replace('070701', '070707'), 'latin1')],
    ['letters in a number', Buffer.from(buildCpio([]).toString('latin1').replace('00000001', '0000000g'), 'latin1')],
    ['a size beyond the file', Buffer.concat([cpioEntry({ name: 'a', size: 0xffffffff }), trailer])],
    ['a name of gigabytes', Buffer.from(`070701${'00000000'.repeat(11)}ffffffff00000000`)],
    ['bytes after the trailer', Buffer.concat([buildCpio([]), cpioEntry({ name: 'hidden', content: 'x' })])],
    ['a stripped entry without a header', Buffer.concat([strippedCpioEntry(0, 'x'), trailer])],
    ['nothing', Buffer.alloc(0)],
  ])('refuses %s', async (_, data) => {
    const outcome = await list(data).catch((error: unknown) => error)
    expect(isProblem(outcome, 'invalid_package'), String(outcome)).toBe(true)
  })
})
