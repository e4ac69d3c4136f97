// Jobs of other rooms: the answers that a reader may give, and what happens to a reader that gives another.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptedReaders } from './fixture.ts'
import { askJob, isNothing, runJob, type JobOptions } from './job.ts'
import type { PoolOptions } from './pool.ts'
import { createSpoolFiles } from './spool-files.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'jobs-'))
})
afterAll(() => rm(directory, { recursive: true }))

const isText = (value: unknown): value is string => typeof value === 'string'
type Options = Partial<JobOptions<string, string>>

async function run(answer: string, options: Options = {}, limits: Partial<PoolOptions> = {}) {
  const pool = scriptedReaders(answer, limits)
  try {
    const sent: string[] = []
    const job = runJob(pool, 'work', 'given', { isSent: isText, isDone: isText, ...options })
    for (let next = await job.next(); ; next = await job.next()) {
      if (next.done) return { sent, done: next.value }
      sent.push(next.value)
    }
  } finally {
    await pool.close()
  }
}

const GOOD = "if (request.kind === 'work') send({ kind: 'done', value: 'well' })"

describe('a job', () => {
  it('gets what was given, sends, and returns', async () => {
    const answer = `if (request.kind !== 'work') return
      send({ kind: 'sent', value: 'a' }); send({ kind: 'sent', value: 'b' }); send({ kind: 'done', value: request.argument })`
    expect(await run(answer)).toEqual({ sent: ['a', 'b'], done: 'given' })
  })

  it('throws its problem as it is', async () => {
    const answer = "send({ kind: 'refused', code: 'upstream_error', detail: 'bad', reason: 'path' })"
    await expect(run(answer)).rejects.toMatchObject({
      code: 'upstream_error',
      detail: 'bad',
      extra: { reason: 'path' },
    })
  })

  it('whose files cannot be removed gives its reader back', async () => {
    const pool = scriptedReaders(GOOD, { mostReaders: 1 })
    const files = createSpoolFiles(() => join(directory, 'never'), 1e6)
    const stuck = { ...files, removeAll: () => Promise.reject(new Error('no access')) }
    for (let round = 0; round < 2; round++)
      await expect(askJob(pool, 'work', 'given', { isDone: isText, isLarge: true, files: stuck })).rejects.toThrow(
        'no access',
      )
    await pool.close()
  })

  it('that nobody wants any more leaves its reader to the next one', async () => {
    const pool = scriptedReaders(
      `if (request.kind === 'work') for (let n = 0; n < 4; n++) send({ kind: 'sent', value: String(process.pid) })
      if (request.kind === 'stop') send({ kind: 'stopped' })`,
    )
    const pids: string[] = []
    for (let round = 0; round < 3; round++)
      for await (const pid of runJob(pool, 'work', null, { isSent: isText, isDone: isNothing })) {
        pids.push(pid)
        break
      }
    expect(new Set(pids).size).toBe(1)
    await pool.close()
  })
})

describe('a job is refused, and the next one has another reader, when its reader', () => {
  it.each<[string, string, Options, Partial<PoolOptions>, object]>([
    ['takes too long', '', { replyMs: 50, subject: 'reading X' }, {}, { detail: 'reading X takes longer than 0.05 s' }],
    ['takes too long for any', '', {}, { replyMs: 50 }, { code: 'invalid_package' }],
    ['loops', 'for (;;);', { replyMs: 300 }, {}, { code: 'invalid_package' }],
    ['ends', 'process.exit(3)', {}, {}, { name: 'ReaderEnded' }],
    ['ends by a signal', "process.kill(process.pid, 'SIGSEGV')", {}, {}, { name: 'ReaderEnded' }],
    ['sends another thing', "send({ kind: 'sent', value: 5 })", {}, {}, { name: 'ReaderEnded' }],
    ['returns another thing', "send({ kind: 'done', value: {} })", {}, {}, { name: 'ReaderEnded' }],
    ['answers another job', "send({ kind: 'facts' })", {}, {}, { name: 'ReaderEnded' }],
    [
      'refuses with a code that is not for it',
      "send({ kind: 'refused', code: 'unauthorized', detail: 'x', reason: null })",
      {},
      {},
      { name: 'ReaderEnded' },
    ],
    ['wants a file', "send({ kind: 'write', file: 0, bytes: new Uint8Array(1) })", {}, {}, { name: 'ReaderEnded' }],
  ])('%s', async (_, answer, options, limits, expected) => {
    await expect(run(answer, options, limits)).rejects.toMatchObject(expected)
    expect((await run(GOOD)).done).toBe('well')
  })

  it('answers more than it was asked for', async () => {
    const pool = scriptedReaders("send({ kind: 'sent', value: 'early' })")
    await expect(askJob(pool, 'work', null, { isDone: isText })).rejects.toMatchObject({ name: 'ReaderEnded' })
    await pool.close()
  })
})

describe('a file of a job', () => {
  const files = (mostBytes = 100_000) => createSpoolFiles(() => join(directory, `file${names++}`), mostBytes)
  let names = 0

  it('is written here, and gone when the job is', async () => {
    const answer = `
      if (request.kind === 'told') return send({ kind: 'done', value: request.path })
      if (request.kind !== 'work') return
      send({ kind: 'write', file: 3, bytes: Buffer.from('one') }); send({ kind: 'write', file: 3, bytes: Buffer.from('two') })
      send({ kind: 'whole', file: 3 })`
    const kept = files()
    const contents: string[] = []
    const watched = {
      ...kept,
      async finish(number: number) {
        const path = await kept.finish(number)
        contents.push(await readFile(path, 'utf8'))
        return path
      },
    }
    expect((await run(answer, { files: watched })).done).toContain(directory)
    expect(contents).toEqual(['onetwo'])
    expect(await readdir(directory)).toEqual([])
  })

  it.each([
    ['larger than allowed', "send({ kind: 'write', file: 0, bytes: new Uint8Array(100_001) })"],
    [
      'one of many that are empty',
      "for (let n = 0; n < 50; n++) send({ kind: 'write', file: n, bytes: new Uint8Array() })",
    ],
  ])('%s ends the job, and leaves nothing', async (_, answer) => {
    const stop = "if (request.kind === 'stop') return send({ kind: 'stopped' })\nif (request.kind !== 'work') return\n"
    await expect(run(stop + answer, { files: files() })).rejects.toMatchObject({ code: 'invalid_package' })
    expect(await readdir(directory)).toEqual([])
  })

  it.each([
    ['never written', "send({ kind: 'whole', file: 1 })"],
    [
      'written after its end',
      `send({ kind: 'write', file: 0, bytes: new Uint8Array(1) }); send({ kind: 'whole', file: 0 })
      send({ kind: 'write', file: 0, bytes: new Uint8Array(1) })`,
    ],
  ])('%s is an error of the reader', async (_, answer) => {
    const stop = "if (request.kind === 'stop') return send({ kind: 'stopped' })\nif (request.kind !== 'work') return\n"
    await expect(run(stop + answer, { files: files() })).rejects.toThrow('a reader')
    expect(await readdir(directory)).toEqual([])
  })
})
