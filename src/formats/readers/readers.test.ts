// The pool and the channel: how much memory a reader may use, what it may send, and what happens to others.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isProblem } from '../../domain/problem.ts'
import { createFrameReader, encodeFrame } from './frames.ts'
import { scriptedReaders } from './fixture.ts'
import type { Message } from './messages.ts'
import { isNothing, runJob } from './job.ts'
import { once, type PoolOptions } from './pool.ts'

const isRunning = (pid: number): boolean => {
  try {
    // A process that ended and was not waited for has state Z.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return false
  }
}

describe('a frame', () => {
  const LIMITS = { headBytes: 1000, allBytes: 100_000 }
  const message = {
    kind: 'a',
    bytes: new Uint8Array([1, 2, 3]),
    list: [new Uint8Array(5000).fill(7), { at: 4 }],
    none: null,
  }

  it('arrives as it was sent, however it is cut', () => {
    const sent = Buffer.concat([...encodeFrame(message), ...encodeFrame({ kind: 'b' })])
    for (const size of [1, 7, 100, 5000, sent.length]) {
      const frames = createFrameReader(LIMITS)
      const found: unknown[] = []
      for (let at = 0; at < sent.length; at += size) found.push(...frames.push(sent.subarray(at, at + size)))
      expect(JSON.stringify(found)).toBe(
        JSON.stringify([
          { ...message, bytes: Buffer.from([1, 2, 3]), list: [Buffer.alloc(5000, 7), { at: 4 }] },
          { kind: 'b' },
        ]),
      )
    }
  })

  it.each([
    ['a larger head', { kind: 'x'.repeat(1001) }],
    ['more bytes', { kind: 'a', bytes: new Uint8Array(100_001) }],
  ])('with %s than is allowed is refused by its lengths alone', (_, large) => {
    expect(() => createFrameReader(LIMITS).push(encodeFrame(large)[0]!)).toThrow(RangeError)
  })

  it('is refused or read when bytes of it are wrong, and never holds on', () => {
    const sound = Buffer.concat(encodeFrame(message))
    for (let at = 0; at < sound.length; at += at < 300 ? 1 : 97) {
      for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
        const bytes = Buffer.from(sound)
        bytes[at] = value
        try {
          createFrameReader(LIMITS).push(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
        }
      }
    }
  })
})

describe('the memory of a reader', () => {
  const eat = async (code: string, options: Partial<PoolOptions> = {}) => {
    const pool = scriptedReaders(code, { residentMb: 200, heapMb: 64, ...options })
    const error: unknown = await once(pool, (lease) => lease.post({ kind: 'eat' })).catch((reason: unknown) => reason)
    await pool.close()
    return error
  }

  it.each([
    ['objects', 'const all = []; for (;;) all.push(new Array(1000).fill(1.5))'],
    ['strings', "let all = []; for (let n = 0; ; n++) all.push((n + 'x').repeat(1000).split('').join('y'))"],
    ['buffers', 'const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))'],
    ['one buffer at a time', 'const all = []; setInterval(() => all.push(Buffer.alloc(1 << 22, 1)), 1)'],
    [
      'WebAssembly',
      'const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536 }); for (;;) { memory.grow(16); new Uint8Array(memory.buffer).fill(1) }',
    ],
    [
      'native code',
      "const zlib = await import('node:zlib'); const all = []; for (;;) { const one = zlib.createDeflate({ level: 9, memLevel: 9 }); one.write(Buffer.alloc(70000)); all.push(one); await new Promise((r) => setImmediate(r)) }",
    ],
  ])('is bounded when it takes it as %s', async (_, code) => {
    const error = await eat(code)
    expect(isProblem(error, 'invalid_package') && error.detail, String(error)).toBe(
      'reading the package needs more memory than is allowed',
    )
  })

  it('is bounded by the system where nobody looks', async () => {
    // Faster than the next look.
    const error = await eat('const all = []; for (;;) all.push(Buffer.allocUnsafeSlow(1 << 30).fill(1))')
    expect(String(error)).toContain('more memory than is allowed')
  })
})

describe('a reader that misbehaves', () => {
  const outcome = async (code: string, options: Partial<PoolOptions> = {}) => {
    const pool = scriptedReaders(code, options)
    const error: unknown = await once(pool, (lease) => lease.post({ kind: 'work' })).catch((reason: unknown) => reason)
    await pool.close()
    return String(error)
  }

  it.each([
    ['loops', 'for (;;);', { replyMs: 300 }, 'takes longer than 0.3 s'],
    ['never answers', 'await new Promise(() => {})', { replyMs: 300 }, 'takes longer than 0.3 s'],
    ['crashes', "process.kill(process.pid, 'SIGSEGV')", {}, 'SIGSEGV'],
    ['aborts', 'process.abort()', {}, 'SIGABRT'],
    ['exits', 'process.exit(0)', {}, 'ended unexpectedly (0)'],
    ['closes its channel', 'channel.destroy()', { replyMs: 300 }, 'ended unexpectedly|longer than'],
    ['writes text', "channel.write('Segmentation fault, core dumped')", {}, 'no message'],
    ['writes noise', 'channel.write(crypto.getRandomValues(Buffer.alloc(60000)))', {}, 'no message'],
    ['announces gigabytes', 'channel.write(Buffer.alloc(8, 0xff))', {}, 'no message'],
    ['sends no object', 'send("text")', {}, 'no message'],
    ['sends no kind', 'send({ kind: 7 })', {}, 'no message'],
    ['sends odd objects', "send(new Map([['kind', 'x']]))", {}, 'no message'],
    ['floods its standard error', "for (;;) process.stderr.write('x'.repeat(65536))", { replyMs: 500 }, 'takes longer'],
  ])('%s: its job fails, and nothing else', async (_, code, options, sentence) => {
    expect(await outcome(code, options)).toMatch(new RegExp(sentence.replaceAll(/[()]/g, '\\$&')))
  })

  it('answers before it is asked: it is ended, and the next job has another one', async () => {
    const pool = scriptedReaders("send({ kind: 'pid', pid: process.pid }); send({ kind: 'more than that' })")
    const pids: number[] = []
    for (let n = 0; n < 2; n++) {
      const { pid } = await once<Message & { pid: number }>(pool, (lease) => lease.post({ kind: 'work' }))
      pids.push(pid)
      await expect.poll(() => isRunning(pid)).toBe(false)
    }
    expect(pids[0]).not.toBe(pids[1])
    await pool.close()
  })

  it('sends without end what nobody takes: it waits, and the service holds little', async () => {
    const pool = scriptedReaders(
      `for (let n = 0; ; n++) if (!send({ kind: 'many', bytes: Buffer.alloc(1 << 20) })) await new Promise((r) => channel.once('drain', r))`,
    )
    const lease = await pool.acquire()
    lease.post({ kind: 'work' })
    await lease.receive()
    const before = process.memoryUsage().arrayBuffers
    for (let n = 0; n < 200; n++) {
      await lease.receive()
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * 1024 ** 2)
    }
    lease.destroy()
    lease.release()
    await pool.close()
  })
})

describe('a reader that is ended from outside', () => {
  /** A signal to itself is the same to the service as one of the kernel. */
  const ending = (signal: string) => `process.kill(process.pid, '${signal}')`

  it.each(['SIGKILL', 'SIGTERM', 'SIGHUP'])(
    'by %s, twice: the job ends as an outage, which is no fault of the package',
    async (signal) => {
      const pool = scriptedReaders(ending(signal))
      const error: unknown = await once(pool, (lease) => lease.post({ kind: 'work' })).catch(
        (reason: unknown) => reason,
      )
      expect(isProblem(error, 'reader_unavailable') && error.retryAfterSeconds).toBe(60)
      await pool.close()
    },
  )

  it('once: the job is done by another one', async () => {
    const pool = scriptedReaders(`if (request.first) ${ending('SIGKILL')}; else send({ kind: 'done' })`)
    let asked = 0
    const answer = once(pool, (lease) => lease.post({ kind: 'work', first: asked++ === 0 }))
    expect(await answer).toMatchObject({ kind: 'done' })
    expect(asked).toBe(2)
    await pool.close()
  })

  it('in the middle of a job that has sent something: the job fails, and is not begun again', async () => {
    const pool = scriptedReaders(
      `if (request.kind === 'more') ${ending('SIGKILL')}; else send({ kind: 'sent', value: 1 })`,
    )
    const job = runJob(pool, 'any', null, { isSent: (value): value is number => value === 1, isDone: isNothing })
    expect(await job.next()).toMatchObject({ value: 1 })
    await expect(job.next()).rejects.toMatchObject({ code: 'reader_unavailable' })
    await pool.close()
  })

  it('before a job has sent anything, twice: the job was begun again', async () => {
    const pool = scriptedReaders(ending('SIGKILL'))
    await expect(runJob(pool, 'any', null, { isDone: isNothing }).next()).rejects.toMatchObject({
      code: 'reader_unavailable',
    })
    await pool.close()
  })
})

describe('a pool of readers', () => {
  it('lets nobody wait for ever: who waits too long is told, and the others go on', async () => {
    const pool = scriptedReaders(PID, { waitMs: 200 })
    const lease = await pool.acquire()
    await expect(pool.acquire()).rejects.toMatchObject({ code: 'reader_unavailable', retryAfterSeconds: 60 })
    const next = pool.acquire()
    lease.release()
    ;(await next).release()
    await pool.close()
  })

  const PID = "send({ kind: 'pid', pid: process.pid })"
  const pidOf = async (pool: ReturnType<typeof scriptedReaders>) =>
    (await once<Message & { pid: number }>(pool, (lease) => lease.post({ kind: 'work' }))).pid

  it('keeps a reader warm, ends it when it is idle, and starts another', async () => {
    const pool = scriptedReaders(PID, { idleMs: 200 })
    const first = await pidOf(pool)
    expect(await pidOf(pool)).toBe(first)
    await expect.poll(() => isRunning(first)).toBe(false)
    expect(await pidOf(pool)).not.toBe(first)
    await pool.close()
  })

  it('runs one large job at a time, and others beside it', async () => {
    const pool = scriptedReaders(PID, { mostReaders: 2 })
    const large = await pool.acquire('reading', true)
    let hasBegun = false
    const next = pool.acquire('reading', true).then((lease) => {
      hasBegun = true
      return lease
    })
    const other = await pool.acquire()
    other.release()
    expect(hasBegun).toBe(false)
    large.destroy()
    large.release()
    const second = await next
    second.release()
    await pool.close()
  })

  it('replaces a reader that keeps much memory', async () => {
    const pool = scriptedReaders(`globalThis.kept ??= Buffer.alloc(200 * 1024 ** 2, 1); ${PID}`)
    const first = await pidOf(pool)
    await expect.poll(() => isRunning(first)).toBe(false)
    await pool.close()
  })

  it('has ended every reader when it is closed, also those that loop', async () => {
    const pool = scriptedReaders(`${PID}; for (;;);`)
    const lease = await pool.acquire()
    lease.post({ kind: 'work' })
    const { pid } = await lease.receive<Message & { pid: number }>()
    const answer = lease.receive()
    const waiting = pool.acquire()
    await Promise.all([
      pool.close(),
      expect(answer).rejects.toThrow('closed'),
      expect(waiting).rejects.toThrow('closed'),
    ])
    expect(isRunning(pid)).toBe(false)
    await expect(pool.acquire()).rejects.toThrow('closed')
  })

  it('names in a refusal what was done', async () => {
    const pool = scriptedReaders('for (;;);', { replyMs: 100 })
    const failed = once(pool, (lease) => lease.post({ kind: 'work' }), undefined, 'checking the signature')
    await expect(failed).rejects.toThrow('checking the signature takes longer than 0.1 s')
    await pool.close()
  })
})
