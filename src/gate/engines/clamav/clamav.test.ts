// What a scan streams to clamd, and what each answer leads to; against a small clamd on loopback.
import { describe, expect, it } from 'vitest'
import { eicar } from '../../../../test/fakes/clamd.ts'
import { inPieces, manyFiles, opened } from '../../../../test/antivirus/target.ts'
import { MIB, useClamd } from '../../../../test/antivirus/fixture.ts'

const { directory, target, fake, engine } = useClamd()

describe('a scan', () => {
  it('streams every member and the file itself, and counts files and bytes', async () => {
    const clamd = await fake()
    const large = Buffer.alloc(700_000, 'large')
    const result = await engine(clamd).scan(await target({ 'usr/bin/a': 'one', 'usr/bin/b': large, empty: '' }, 'raw'))
    expect(result).toEqual({
      result: 'clean',
      signature: null,
      member: null,
      message: '4 files scanned, nothing found.',
      coverage: {
        engine: 'ClamAV',
        engine_version: '1.4.6',
        database_date: '2025-11-18T09:26:00.000+00:00',
        distro_matched: null,
        files_seen: 4,
        files_skipped: [],
        bytes: 3 + 700_000 + 3,
      },
    })
    expect(clamd.streams.map(String).sort()).toEqual(['one', 'raw', String(large)].sort())
  })

  it('names the one infected member among thousands', async () => {
    const files = { ...manyFiles(3_000), 'usr/lib/bad': eicar(), ...manyFiles(10) }
    const result = await engine(await fake()).scan(await target(files))
    expect(result).toMatchObject({ result: 'infected', signature: 'Test.EICAR', member: 'usr/lib/bad' })
    expect(result.message).toBe('Test.EICAR found in usr/lib/bad.')
  })

  it('uses few connections for thousands of members', async () => {
    const clamd = await fake()
    expect((await engine(clamd).scan(await target(manyFiles(2_000)))).coverage.files_seen).toBe(2_001)
    expect(clamd.connections).toBeLessThan(10)
  })

  it('finds what lies across two pieces of a large member', async () => {
    const content = Buffer.concat([Buffer.alloc(MIB - 20), eicar(), Buffer.alloc(MIB)])
    const result = await engine(await fake()).scan(await target({ 'usr/lib/big.so': content }))
    expect(result).toMatchObject({ result: 'infected', member: 'usr/lib/big.so' })
  })

  it('names the member if it has the finding, else the file', async () => {
    const raw = Buffer.concat([Buffer.from('!<arch>'), eicar()])
    const both = await engine(await fake()).scan(await target({ bad: eicar() }, raw))
    expect(both).toMatchObject({ result: 'infected', member: 'bad' })
    const only = await engine(await fake()).scan(await target({ good: 'x' }, raw))
    expect(only).toMatchObject({ result: 'infected', member: null, message: 'Test.EICAR found in sample.deb.' })
  })

  it('reads the members again in each scan', async () => {
    const antivirus = engine(await fake())
    const file = await target({ bad: eicar() })
    expect((await antivirus.scan(file)).result).toBe('infected')
    expect((await antivirus.scan(file)).result).toBe('infected')
  })

  it('keeps the answers of concurrent scans apart', async () => {
    const antivirus = engine(await fake())
    const good = await target(manyFiles(300))
    const bad = await target({ ...manyFiles(300), bad: eicar() })
    const results = await Promise.all([good, bad, good, bad].map((file) => antivirus.scan(file)))
    expect(results.map((result) => result.result)).toEqual(['clean', 'infected', 'clean', 'infected'])
  })

  it('begins when few others are under way, so that its time limit does not pass while it waits', async () => {
    const antivirus = engine(await fake())
    const file = await target({})
    let running = 0
    let most = 0
    async function* members() {
      most = Math.max(most, ++running)
      yield { name: 'a', sizeBytes: 1, content: inPieces(Buffer.from('x')) }
      running--
    }
    const results = await Promise.all(
      Array.from({ length: 20 }, () => antivirus.scan({ ...file, contents: opened(directory(), members) })),
    )
    expect(results.map(({ result }) => result)).toEqual(results.map(() => 'clean'))
    expect(most).toBe(4)
  })
})

describe('limits', () => {
  it('does not stream a member above the limit, and never calls that clean', async () => {
    const clamd = await fake()
    const result = await engine(clamd, { maxStreamBytes: MIB }).scan(
      await target({ a: 'x', big: Buffer.alloc(MIB + 1) }),
    )
    expect(result).toMatchObject({ result: 'limited', signature: null })
    expect(result.message).toContain('first big: 1048577 bytes are more than the 1048576 bytes')
    expect(result.coverage.files_skipped.map((file) => file.name)).toEqual(['big'])
    expect(result.coverage.files_seen).toBe(2)
    expect(clamd.streams.every((stream) => stream.length < MIB)).toBe(true)
  })

  it('stops streaming a member that is larger than it announced', async () => {
    const file = await target({})
    async function* members() {
      yield { name: 'liar', sizeBytes: 10, content: inPieces(Buffer.alloc(2 * MIB)) }
    }
    const result = await engine(await fake(), { maxStreamBytes: MIB }).scan({
      ...file,
      contents: opened(directory(), members),
    })
    expect(result).toMatchObject({ result: 'limited', coverage: { files_skipped: [{ name: 'liar' }] } })
  })

  it('scans the rest, and an infected member wins over one above the limit', async () => {
    const files = { big: Buffer.alloc(MIB + 1), bad: eicar() }
    const result = await engine(await fake(), { maxStreamBytes: MIB }).scan(await target(files))
    expect(result).toMatchObject({ result: 'infected', member: 'bad', coverage: { files_skipped: [{ name: 'big' }] } })
  })

  it('lists the file itself if it is above the limit, and returns the result of its members', async () => {
    const result = await engine(await fake(), { maxStreamBytes: 1000 }).scan(
      await target({ a: 'x' }, Buffer.alloc(1001)),
    )
    expect(result).toMatchObject({
      result: 'clean',
      coverage: { files_seen: 1, files_skipped: [{ name: 'sample.deb' }] },
    })
  })

  it('is limited when the file is above the limit and has no members', async () => {
    const result = await engine(await fake(), { maxStreamBytes: 1000 }).scan(await target({}, Buffer.alloc(1001)))
    expect(result).toMatchObject({ result: 'limited', coverage: { files_seen: 0 } })
  })

  it('is limited when clamd answers "size limit exceeded" for a large member, and scans the others', async () => {
    const clamd = await fake({ streamLimit: MIB })
    const result = await engine(clamd).scan(await target({ a: 'x', big: Buffer.alloc(3 * MIB), b: 'y' }))
    expect(result).toMatchObject({ result: 'limited', coverage: { files_seen: 3, files_skipped: [{ name: 'big' }] } })
    expect(result.message).toContain('StreamMaxLength')
  })

  it('is limited when that answer is lost because the client was still sending', async () => {
    const clamd = await fake({ streamLimit: MIB, refusesSilently: true })
    const result = await engine(clamd).scan(await target({ a: 'x', big: Buffer.alloc(3 * MIB), b: 'y' }))
    expect(result).toMatchObject({ result: 'limited', coverage: { files_seen: 3, files_skipped: [{ name: 'big' }] } })
  })

  it('loses no answer of other members when a small one is over the limit and the session ends with it', async () => {
    const clamd = await fake({ streamLimit: 100 })
    const files = { ...manyFiles(50), a: Buffer.alloc(200), ...manyFiles(60), b: Buffer.alloc(300), bad: 'z' }
    const result = await engine(clamd).scan(await target(files))
    expect(result).toMatchObject({ result: 'limited', coverage: { files_seen: 60 + 1 + 1 } })
    expect(result.coverage.files_skipped.map((file) => file.name).sort()).toEqual(['a', 'b'])
  })

  it('is limited when clamd reports an exceeded limit inside a member', async () => {
    const answer = (stream: Buffer) =>
      String(stream) === 'bomb' ? 'stream: Heuristics.Limits.Exceeded.MaxScanSize FOUND' : null
    const result = await engine(await fake({ answer })).scan(await target({ zip: 'bomb', ok: 'x' }))
    expect(result).toMatchObject({ result: 'limited', signature: null, coverage: { files_skipped: [{ name: 'zip' }] } })
  })

  it('names a hundred skipped members and counts the others', async () => {
    const clamd = await fake({ answer: () => 'stream: Heuristics.Limits.Exceeded.MaxFiles FOUND' })
    const { coverage, message } = await engine(clamd).scan(await target(manyFiles(250)))
    expect(coverage.files_skipped).toHaveLength(101)
    expect(coverage.files_skipped.at(-1)?.name).toBe('151 more')
    expect(message).toContain('250 files of the package not fully scanned')
  })
})
