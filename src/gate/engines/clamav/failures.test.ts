// What happens to a scan when clamd, the package or the caller fails midway; against a small clamd on loopback.
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eicar } from '../../../../test/fakes/clamd.ts'
import { inPieces, manyFiles, opened } from '../../../../test/antivirus/target.ts'
import { LONG_LIMITS, MIB, useClamd } from '../../../../test/antivirus/fixture.ts'
import type { ScanMember } from '../scanner.ts'

const { directory, target, fake, gone, engine } = useClamd()

describe('failures', () => {
  const down = { code: 'scanner_unavailable', retryAfterSeconds: 30 }

  it('returns an error when the engine fails on a member, unless another is infected', async () => {
    const answer = (stream: Buffer) => (String(stream) === 'hard' ? "stream: Can't allocate memory ERROR" : null)
    const failed = await engine(await fake({ answer })).scan(await target({ a: 'hard', b: 'x' }))
    expect(failed).toMatchObject({
      result: 'error',
      message: "The antivirus engine failed on a: Can't allocate memory.",
    })
    expect(failed.coverage.files_skipped).toEqual([{ name: 'a', reason: "Can't allocate memory" }])
    const infected = await engine(await fake({ answer })).scan(await target({ a: 'hard', b: eicar() }))
    expect(infected.result).toBe('infected')
  })

  it.each([
    ['nobody listens', gone],
    ['the socket is not there', async () => ({ address: { path: join(directory(), 'clamd.sock') } })],
  ])('is unavailable, to be tried again, when %s', async (_, clamd) => {
    await expect(engine(await clamd()).scan(await target({ a: 'x' }))).rejects.toMatchObject(down)
  })

  it.each([
    ['among small members', 700, manyFiles(1_000)],
    ['in a large member', 1, { big: Buffer.alloc(3 * MIB) }],
    ['at the file itself', 11, manyFiles(10)],
  ])('is unavailable when the daemon dies %s', async (_, dieAfterStreams, files) => {
    await expect(engine(await fake({ dieAfterStreams })).scan(await target(files))).rejects.toMatchObject(down)
  })

  it('is unavailable when the daemon hangs up on a stream without an answer', async () => {
    const clamd = await fake({ answer: () => 'hangup' })
    await expect(engine(clamd).scan(await target({ a: 'x' }))).rejects.toMatchObject(down)
  })

  it('gets every answer although the daemon ends sessions now and then', async () => {
    const clamd = await fake({ endSessionAfterStreams: 30 })
    const result = await engine(clamd).scan(await target(manyFiles(500)))
    expect(result).toMatchObject({ result: 'clean', coverage: { files_seen: 501, files_skipped: [] } })
  })

  it('finds the infected member whose answer was lost with its session', async () => {
    const clamd = await fake({ endSessionAfterStreams: 1 })
    const result = await engine(clamd).scan(await target({ a: 'x', bad: eicar() }))
    expect(result).toMatchObject({ result: 'infected', member: 'bad' })
  })

  // On a busy machine the answer for the other file may take seconds.
  it('returns an error when a running daemon does not answer for one file', async () => {
    const clamd = await fake({ answer: (stream) => (String(stream) === 'poison' ? 'hang' : null) })
    const limits = { ...LONG_LIMITS, idleMs: 5_000, answerMs: 5_000 }
    const result = await engine(clamd, { limits }).scan(await target({ a: 'x', b: 'poison' }))
    expect(result).toMatchObject({ result: 'error', message: 'The antivirus engine failed on b: no answer in time.' })
  })

  it('gives up when the daemon no longer reads what is sent', async () => {
    const clamd = await fake({ stopReading: true })
    const limits = { ...LONG_LIMITS, idleMs: 60, answerMs: 60 }
    const file = await target({ big: Buffer.alloc(60 * MIB) })
    const result = await engine(clamd, { limits, maxStreamBytes: 100 * MIB }).scan(file)
    expect(result.result).toBe('error')
  })

  it('is limited when the scan exceeds its time', async () => {
    const clamd = await fake({ answer: (stream) => (String(stream) === 'slow' ? 'hang' : null) })
    const limits = { ...LONG_LIMITS, overallMs: 5_000 }
    const result = await engine(clamd, { limits }).scan(await target({ a: 'x', b: 'slow' }))
    expect(result).toMatchObject({
      result: 'limited',
      coverage: { files_skipped: [{ reason: 'not finished within 5 s' }] },
    })
  })

  it('rejects with the reason of the abort signal', async () => {
    const abort = new AbortController()
    const reason = new Error('shutting down')
    const clamd = await fake({
      answer: () => {
        abort.abort(reason)
        return 'hang'
      },
    })
    await expect(engine(clamd).scan({ ...(await target({ a: 'x' })), signal: abort.signal })).rejects.toBe(reason)
  })

  it('rejects with the error of reading the package, and closes its connections', async () => {
    const broken = new Error('broken archive')
    async function* members(): AsyncGenerator<ScanMember> {
      yield { name: 'a', sizeBytes: 1, content: inPieces(Buffer.from('x')) }
      throw broken
    }
    const clamd = await fake()
    await expect(engine(clamd).scan({ ...(await target({})), contents: opened(directory(), members) })).rejects.toBe(
      broken,
    )
    await clamd.idle()
  })

  it('rejects with the error of reading a member, small or large', async () => {
    const broken = new Error('broken stream')
    for (const size of [10, MIB]) {
      async function* content() {
        yield Buffer.alloc(size)
        throw broken
      }
      async function* members() {
        yield { name: 'a', sizeBytes: size * 2, content: content() }
      }
      await expect(
        engine(await fake()).scan({ ...(await target({})), contents: opened(directory(), members) }),
      ).rejects.toBe(broken)
    }
  })
})
