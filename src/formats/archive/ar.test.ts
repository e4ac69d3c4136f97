import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isProblem } from '../../domain/problem.ts'
import { buildAr } from '../../../test/samples/ar.ts'
import { listArMembers } from './ar.ts'
import { fileRange } from './file-range.ts'

describe('listArMembers', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ar-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  async function list(data: Uint8Array) {
    const path = join(directory, 'sample')
    await writeFile(path, data)
    return { path, members: listArMembers(path) }
  }

  it('gives names and byte ranges, odd lengths padded', async () => {
    const { path, members } = await list(
      buildAr([
        { name: 'one', content: 'abc' },
        { name: 'two/', content: '' },
        { name: 'three', content: 'wxyz' },
      ]),
    )
    const texts: string[] = []
    for (const member of members) {
      let text = ''
      for await (const piece of fileRange(path, member.start, member.end)) text += Buffer.from(piece).toString()
      texts.push(`${member.name}=${text}`)
    }
    expect(texts).toEqual(['one=abc', 'two=', 'three=wxyz'])
  })

  it('takes a last member of odd length without its padding', async () => {
    const data = buildAr([{ name: 'a', content: 'x' }])
    expect((await list(data.subarray(0, -1))).members).toHaveLength(1)
  })

  const good = buildAr([{ name: 'one', content: 'abcd' }])
  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['another magic', Buffer.from('!<thin>\nxxxxxxxxxxxxxx')],
    ['a cut header', good.subarray(0, 30)],
    ['cut content', good.subarray(0, -1)],
    ['a size beyond the file', buildAr([{ name: 'a', content: 'x', size: '9999999999' }])],
    ['a negative size', buildAr([{ name: 'a', content: 'x', size: '-1' }])],
    ['a size in hexadecimal', buildAr([{ name: 'a', content: 'x', size: '0x1' }])],
    ['an empty size', buildAr([{ name: 'a', content: 'x', size: '' }])],
    ['no name', buildAr([{ name: '', content: 'x' }])],
    ['a control character in a name', buildAr([{ name: 'a\x01b', content: 'x' }])],
    ['too many members', buildAr(Array.from({ length: 65 }, () => ({ name: 'a', content: '' })))],
    ['bytes after the last member', Buffer.concat([good, Buffer.from('trailing')])],
  ])('refuses %s', async (_, data) => {
    const outcome = await list(data).catch((error: unknown) => error)
    expect(isProblem(outcome, 'invalid_package'), String(outcome)).toBe(true)
  })

  it('reads a range exactly and says when the file is too short', async () => {
    const { path } = await list(good)
    const read = async (start: number, end: number) => {
      let text = ''
      for await (const piece of fileRange(path, start, end)) text += Buffer.from(piece).toString('latin1')
      return text
    }
    expect(await read(0, 7)).toBe('!<arch>')
    expect(await read(3, 3)).toBe('')
    await expect(read(0, 10_000)).rejects.toThrow(/truncated/)
  })
})
