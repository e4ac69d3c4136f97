import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApk } from '../../../test/samples/apk.ts'
import { buildDeb } from '../../../test/samples/deb.ts'
import { buildRpm } from '../../../test/samples/rpm.ts'
import { packFacts } from '../../domain/packed-facts.ts'
import type { Member } from '../ecosystem.ts'
import { formatOf } from '../index.ts'
import { realReaders, scriptedReaders } from '../readers/fixture.ts'
import type { PoolOptions, ReaderPool } from '../readers/pool.ts'
import { createBring, type Bring } from './bring.ts'
import { isolate } from './isolate.ts'

let directory: string
let pool: ReaderPool
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'readers-'))
  pool = realReaders(directory, { mostReaders: 2 })
})
afterAll(async () => {
  await pool.close()
  await rm(directory, { recursive: true })
})

/** for files that readers may open already */
const bring: Bring = async (path) => ({ path, done: async () => {} })
const isolated = (id: string) => isolate(formatOf(id), { pool, bring, options: () => ({}) })

async function stored(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, bytes)
  return path
}

async function contents(members: AsyncIterable<Member>): Promise<[string, number, string][]> {
  const found: [string, number, string][] = []
  for await (const { name, sizeBytes, content } of members) {
    const pieces: Uint8Array[] = []
    for await (const piece of content) pieces.push(Buffer.from(piece))
    found.push([name, sizeBytes, Buffer.concat(pieces).toString('latin1')])
  }
  return found
}

describe('a format in readers', () => {
  it.each(['deb', 'rpm', 'apk'])('reads the same facts and members of a %s', async (id) => {
    const files = { 'usr/a': 'small', 'usr/b': 'x'.repeat(700_000), 'usr/c': '' }
    const sample = {
      deb: () => buildDeb({ files }),
      rpm: () => buildRpm({ files: Object.entries(files).map(([path, content]) => ({ path: `/${path}`, content })) }),
      apk: async () => buildApk({ files }),
    }[id] as () => Promise<Buffer>
    const path = await stored(`same.${id}`, await sample())
    const facts = await isolated(id).read(path)
    expect(facts).toEqual(await formatOf(id).read(path))
    expect(await contents(isolated(id).members(path))).toEqual(await contents(formatOf(id).members(path)))

    const distribution = formatOf(id).distributions[0]!
    const digests = { sha256: 'a'.repeat(64), sha512: 'b'.repeat(128), sha1: 'c'.repeat(40), md5: 'd'.repeat(32) }
    const file = { filename: formatOf(id).filename(facts), sizeBytes: 5, digests, addedAt: 1 }
    const rendered = await isolated(id).entryInReader!({ ...file, ...packFacts(facts) }, distribution)
    const expected = Object.entries(formatOf(id).entry({ ...file, facts }, distribution))
    expect(Object.entries(rendered).map(([key, bytes]) => [key, Buffer.from(bytes)])).toEqual(
      expected.map(([key, bytes]) => [key, Buffer.from(bytes)]),
    )
  })

  it('verifies signatures', async () => {
    const path = await stored('unsigned.rpm', await buildRpm())
    expect(await isolated('rpm').verifySignature!(path, [])).toEqual({ outcome: 'unsigned' })
    expect(isolated('deb').verifySignature).toBeUndefined()
  })

  it('throws the problem of a damaged package, from both', async () => {
    const path = await stored('damaged.deb', (await buildDeb()).subarray(0, 300))
    await expect(isolated('deb').read(path)).rejects.toMatchObject({ code: 'invalid_package' })
    await expect(contents(isolated('deb').members(path))).rejects.toMatchObject({ code: 'invalid_package' })
    await expect(isolated('deb').read(join(directory, 'none'))).rejects.toThrow('ENOENT')
  })

  it('applies the limits in force', async () => {
    const path = await stored('limited.deb', await buildDeb({ files: { a: 'x'.repeat(10_000) } }))
    const limited = isolate(formatOf('deb'), { pool, bring, options: () => ({ maxUnpackedBytes: 5000 }) })
    await expect(limited.read(path)).rejects.toThrow('unpacks to more than 5,000 bytes')
  })

  it('skips content that nobody reads, and members after a loop that is left', async () => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, 'x'.repeat(100_000)]))
    const path = await stored('many.deb', await buildDeb({ files }))
    const names: string[] = []
    for await (const { name } of isolated('deb').members(path)) names.push(name)
    expect(names).toHaveLength(41)
    for (let round = 0; round < 6; round++) {
      for await (const { content } of isolated('deb').members(path)) {
        for await (const _ of content) break
        break
      }
    }
    expect(await contents(isolated('deb').members(path))).toHaveLength(41)
  })

  it('reads more packages at the same time than it has readers', async () => {
    const path = await stored('shared.deb', await buildDeb())
    const facts = await Promise.all(Array.from({ length: 10 }, () => isolated('deb').read(path)))
    expect(facts.map(({ name }) => name)).toEqual(Array.from({ length: 10 }, () => 'sample'))
  })

  it('tells the damaged packages of one request from the sound ones', async () => {
    const sound = await stored('sound.deb', await buildDeb())
    const damaged = await stored('half.deb', (await buildDeb()).subarray(0, 300))
    const format = isolated('deb')
    const paths = Array.from({ length: 20 }, (_, n) => (n % 3 === 1 ? damaged : sound))
    const outcomes = await Promise.allSettled(paths.map((path) => format.read(path)))
    expect(outcomes.map(({ status }) => status)).toEqual(
      paths.map((path) => (path === damaged ? 'rejected' : 'fulfilled')),
    )
  })
})

describe('a reader that fails', () => {
  const FACTS = "{ kind: 'facts', facts: Buffer.from('{}'), files: Buffer.alloc(0), lines: Buffer.alloc(0) }"
  const isolatedIn = (failing: ReaderPool) => isolate(formatOf('deb'), { pool: failing, bring, options: () => ({}) })
  const read = (code: string, options: Partial<PoolOptions> = {}) => {
    const failing = scriptedReaders(code, options)
    return isolatedIn(failing)
      .read('x')
      .finally(() => failing.close())
  }

  it.each([
    ['by memory', 'const all = []; for (;;) all.push(new Array(1000).fill(1.5))', { heapMb: 16 }, 'needs more memory'],
    ['by time', 'for (;;);', { replyMs: 200 }, 'takes longer than 0.2 s'],
    ['by itself', 'process.exit(3)', {}, 'ended unexpectedly'],
    ['by an exception', 'throw new Error("odd")', {}, 'odd'],
  ])('%s fails its package and nothing else', async (_, code, options, sentence) => {
    await expect(read(code, options)).rejects.toThrow(sentence)
  })

  it.each([
    ['another kind', "send({ kind: 'verdict', verdict: { outcome: 'verified' } })"],
    ['facts without bytes', "send({ kind: 'facts', facts: '{}', files: [], lines: null })"],
    ['facts that are no JSON', `send({ ...${FACTS}, facts: Buffer.from('{"files"') })`],
  ])('and answers %s fails its package', async (_, code) => {
    await expect(read(code)).rejects.toThrow(/not asked for|JSON/)
  })

  it.each([
    ['content outside its bytes', "events: [{ kind: 'content', start: 0, end: 5 }]"],
    ['a member without a name', "events: [{ kind: 'member', sizeBytes: 5 }]"],
    ['no list', 'events: 7'],
  ])('and sends members with %s fails its package', async (_, events) => {
    const failing = scriptedReaders(`send({ kind: 'sent', value: { ${events}, bytes: new Uint8Array(2) } })`)
    await expect(contents(isolatedIn(failing).members('x'))).rejects.toThrow('not expected')
    await failing.close()
  })

  it('fails one package of a request, not those beside it', async () => {
    const failing = scriptedReaders(
      `for (const one of request.paths ?? [request.path]) one === 'bad' ? process.exit(3) : send(${FACTS})`,
    )
    const format = isolatedIn(failing)
    const paths = ['a', 'b', 'bad', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
    const outcomes = await Promise.allSettled(paths.map((path) => format.read(path)))
    expect(paths.filter((_, n) => outcomes[n]?.status === 'rejected')).toEqual(['bad'])
    await failing.close()
  })

  it('is replaced for those who wait', async () => {
    const failing = scriptedReaders('process.exit(3)')
    const format = isolatedIn(failing)
    const outcomes = await Promise.allSettled([format.read('x'), format.read('y'), format.read('z')])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    await failing.close()
  })
})

describe('a file elsewhere', () => {
  it('is linked where readers may open it, and the link removed', async () => {
    const [staging, elsewhere] = [join(directory, 'staging'), join(directory, 'elsewhere')]
    for (const path of [staging, elsewhere]) await mkdir(path)
    const path = join(elsewhere, 'pool.deb')
    await writeFile(path, await buildDeb())
    const small = realReaders(staging)
    const options = () => ({})
    const without = isolate(formatOf('deb'), { pool: small, bring, options })
    await expect(without.read(path)).rejects.toThrow('Access to this API has been restricted')

    let names = 0
    const brought = createBring(staging, () => join(staging, `link-${names++}`))
    const format = isolate(formatOf('deb'), { pool: small, bring: brought, options })
    expect((await format.read(path)).name).toBe('sample')
    expect((await contents(format.members(path))).length).toBeGreaterThan(1)
    for await (const _ of format.members(path)) break
    expect(names).toBe(3)
    expect(await readdir(staging)).toEqual([])
    await expect(format.read(join(elsewhere, 'none'))).rejects.toThrow('ENOENT')
    await small.close()
  })

  it('is found where REPOS_DIR is a relative path', async () => {
    const staging = relative(process.cwd(), directory)
    const path = await stored('relative.deb', await buildDeb())
    const small = realReaders(staging)
    const format = isolate(formatOf('deb'), { pool: small, bring: createBring(staging, () => ''), options: () => ({}) })
    expect((await format.read(join(staging, 'relative.deb'))).name).toBe('sample')
    expect((await format.read(path)).name).toBe('sample')
    await small.close()
  })
})
