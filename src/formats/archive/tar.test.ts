import { describe, expect, it } from 'vitest'
import { isProblem } from '../../domain/problem.ts'
import { buildTar, paxEntry, tarEntry } from '../../../test/samples/tar.ts'
import { readTar, type TarOptions } from './tar.ts'

async function* once(data: Uint8Array, size = data.length || 1): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size)
}

async function list(data: Uint8Array, options?: TarOptions, size?: number): Promise<string[]> {
  const found: string[] = []
  for await (const entry of readTar(once(data, size), options)) {
    let content = ''
    for await (const piece of entry.content) content += Buffer.from(piece).toString()
    found.push(`${entry.type} ${entry.name}${entry.linkName ? ` -> ${entry.linkName}` : ''} ${content}`.trim())
  }
  return found
}

describe('readTar', () => {
  it('reads names, kinds, links and content for any split of the stream', async () => {
    const data = buildTar([
      { name: './' },
      { name: './a', content: 'first' },
      { name: './b', type: '2', linkName: 'a' },
      { name: './c', type: '1', linkName: './a' },
      { name: './empty' },
      { name: './dev', type: '3' },
    ])
    for (const size of [1, 100, 511, 512, 513, data.length]) {
      expect(await list(data, {}, size)).toEqual([
        'directory ./',
        'file ./a first',
        'symbolic-link ./b -> a',
        'hard-link ./c -> ./a',
        'file ./empty',
        'character-device ./dev',
      ])
    }
  })

  it('skips content that was not read', async () => {
    const data = buildTar([
      { name: 'a', content: 'x'.repeat(5000) },
      { name: 'b', content: 'y' },
    ])
    const names: string[] = []
    for await (const entry of readTar(once(data, 700))) {
      names.push(entry.name)
      for await (const _ of entry.content) break
    }
    expect(names).toEqual(['a', 'b'])
  })

  it('knows long names of both kinds', async () => {
    const long = `${'d/'.repeat(200)}file`
    expect(await list(buildTar([{ name: long, content: 'x' }]))).toEqual([`file ${long} x`])
    const pax = Buffer.concat([paxEntry({ path: long }), buildTar([{ name: 'short', content: 'x' }])])
    expect(await list(pax)).toEqual([`file ${long} x`])
    await expect(list(pax, { pax: 'refuse' })).rejects.toThrow(/pax/)
  })

  it('gives pax records on, from global headers too', async () => {
    const data = Buffer.concat([
      paxEntry({ comment: 'all' }, 'g'),
      paxEntry({ 'APK-TOOLS.checksum.SHA1': 'abc' }),
      buildTar([{ name: 'a' }, { name: 'b' }]),
    ])
    const seen: Record<string, string>[] = []
    for await (const entry of readTar(once(data))) seen.push(Object.fromEntries(entry.pax))
    expect(seen).toEqual([{ comment: 'all', 'APK-TOOLS.checksum.SHA1': 'abc' }, { comment: 'all' }])
  })

  it('takes a size from pax', async () => {
    const entry = tarEntry({ name: 'a', content: 'abc' })
    entry.write('00000000000', 124)
    entry.fill(0x20, 148, 156)
    entry.write(
      entry
        .subarray(0, 512)
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0') + '\0 ',
      148,
    )
    expect(await list(Buffer.concat([paxEntry({ size: '3' }), entry, Buffer.alloc(1024)]))).toEqual(['file a abc'])
  })

  it('takes an archive without closing blocks, as apk cuts them', async () => {
    expect(await list(buildTar([{ name: 'a', content: 'x' }], { end: false }))).toEqual(['file a x'])
    expect(await list(new Uint8Array(0))).toEqual([])
  })

  const base256 = (...bytes: number[]) => Buffer.from([...bytes, ...Array<number>(12 - bytes.length).fill(0)])
  it.each<[string, Buffer]>([
    ['cut in a header', buildTar([{ name: 'a' }]).subarray(0, 300)],
    ['cut in content', buildTar([{ name: 'a', content: 'x'.repeat(1000) }]).subarray(0, 1000)],
    ['cut in padding', buildTar([{ name: 'a', content: 'x' }], { end: false }).subarray(0, 600)],
    ['a wrong checksum', buildTar([{ name: 'a', checksum: 1 }])],
    ['an unknown kind', buildTar([{ name: 'a', type: 'Q' }])],
    ['a sparse file', buildTar([{ name: 'a', type: 'S' }])],
    ['a sparse file by pax', Buffer.concat([paxEntry({ 'GNU.sparse.major': '1' }), buildTar([{ name: 'a' }])])],
    ['a size beyond the file', buildTar([{ name: 'a', size: 0o77777777777 }])],
    ['a negative size', buildTar([{ name: 'a', size: Buffer.alloc(12, 0xff) }])],
    ['an enormous size', buildTar([{ name: 'a', size: base256(0x80, 0, 0, 0, 0xff) }])],
    ['letters for a size', buildTar([{ name: 'a', size: Buffer.from('00000000zzz\0') }])],
    ['data behind a link', buildTar([{ name: 'a', type: '2', linkName: 'b', content: 'hidden' }])],
    ['data behind a directory', buildTar([{ name: 'a/', content: 'hidden' }])],
    ['bytes after the end', Buffer.concat([buildTar([{ name: 'a' }]), tarEntry({ name: 'hidden', content: 'x' })])],
    [
      'an endless chain of long names',
      Buffer.concat(Array.from({ length: 100 }, () => tarEntry({ name: 'x', type: 'L', content: 'n' }))),
    ],
    ['a long name without its file', tarEntry({ name: 'x', type: 'L', content: 'name' })],
    ['a name of a megabyte', tarEntry({ name: 'x', type: 'L', content: 'n'.repeat(1_000_000) })],
    [
      'a pax record longer than its header',
      Buffer.concat([tarEntry({ name: 'p', type: 'x', content: '99 path=a\n' }), buildTar([{ name: 'a' }])]),
    ],
    [
      'a pax record of length zero',
      Buffer.concat([tarEntry({ name: 'p', type: 'x', content: '0 path=a\n' }), buildTar([{ name: 'a' }])]),
    ],
    ['NUL in a pax path', Buffer.concat([paxEntry({ path: 'a\0b' }), buildTar([{ name: 'a' }])])],
    ['a pax size that is no number', Buffer.concat([paxEntry({ size: '-1' }), buildTar([{ name: 'a' }])])],
  ])('refuses %s', async (_, data) => {
    const outcome = await list(data).catch((error: unknown) => error)
    expect(isProblem(outcome, 'invalid_package'), String(outcome)).toBe(true)
  })

  it('refuses more entries than are allowed', async () => {
    await expect(list(buildTar([{ name: 'a' }, { name: 'b' }, { name: 'c' }]), { mostEntries: 2 })).rejects.toThrow(
      /too many/,
    )
  })
})
