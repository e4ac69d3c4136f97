import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { refused } from '../formats/catalog.ts'
import { problemOf, sha256 } from './fixture.ts'
import { stage } from './stage.ts'
import { Interrupted, type Transport } from './transport.ts'

let directory: string
beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'stage-'))))
afterAll(() => rm(directory, { recursive: true }))

const CONTENT = Buffer.from('0123456789')
const VALIDATOR = { etag: '"one"', lastModified: null }
const WANTED = {
  path: 'file',
  sizeBytes: 10,
  mostBytes: 10,
  digest: { algorithm: 'sha256' as const, hex: sha256(CONTENT) },
}

/** Sends a few bytes in each answer, then fails. */
function interrupting(bytes: number, failure: () => Error): Transport & { opened: number[] } {
  const opened: number[] = []
  return {
    name: 'upstream',
    opened,
    async open(_, { resume }) {
      const startsAt = resume?.at ?? 0
      opened.push(startsAt)
      async function* body() {
        yield CONTENT.subarray(startsAt, startsAt + bytes)
        if (startsAt + bytes < CONTENT.length) throw failure()
      }
      return { startsAt, validator: VALIDATOR, body: body() }
    },
  }
}

describe('a file', () => {
  test('is put together from several answers', async () => {
    const transport = interrupting(4, () => new Interrupted(refused('unreachable', 'lost')))
    const to = join(directory, 'whole')
    expect(await stage(transport, WANTED, to, async () => {})).toMatchObject({ sizeBytes: 10, sha256: sha256(CONTENT) })
    expect(transport.opened).toEqual([0, 4, 8])
    await rm(to)
  })

  test.each([
    ['that loses connections', 1, 7],
    ['that does not answer', 3, 3],
  ])('of a server %s is given up after some tries', async (_, tries, expected) => {
    const transport = interrupting(1, () => new Interrupted(refused('timeout', 'too slow'), null, tries))
    const waits: number[] = []
    const work = stage(transport, WANTED, join(directory, 'part'), async (ms) => void waits.push(ms))
    expect(await problemOf(work)).toMatchObject({ code: 'upstream_error', extra: { reason: 'timeout' } })
    expect(transport.opened).toHaveLength(expected)
    expect(waits).toHaveLength(expected - 1)
    expect(await readdir(directory)).toEqual([])
  })

  test('is verified by SHA-384 and SHA-512 too', async () => {
    const transport = interrupting(10, () => new Error('never'))
    for (const [algorithm, digits] of [
      ['sha384', 96],
      ['sha512', 128],
    ] as const) {
      const digest = { algorithm, hex: '0'.repeat(digits) }
      const problem = await problemOf(stage(transport, { ...WANTED, digest }, join(directory, 'part'), async () => {}))
      expect(problem.code).toBe('checksum_mismatch')
      expect(problem.detail).toContain(algorithm)
    }
  })

  test('does not replace an existing one', async () => {
    const transport = interrupting(10, () => new Error('never'))
    const to = join(directory, 'once')
    await stage(transport, WANTED, to, async () => {})
    await expect(stage(transport, WANTED, to, async () => {})).rejects.toMatchObject({ code: 'EEXIST' })
    await rm(to)
  })
})
