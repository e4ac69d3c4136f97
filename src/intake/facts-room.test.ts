// How much memory packages with long lists hold in total: one that must wait holds nothing.
import { expect, test } from 'vitest'
import type { PackageFacts } from '../domain/package.ts'
import type { Candidate } from '../gate/step.ts'
import { createFactsRoom, withoutLists } from './facts-room.ts'

/** @param characters of its only file name */
const candidate = (characters: number) =>
  ({
    filename: `${characters}`,
    facts: { name: 'a', files: ['x'.repeat(characters)] } as unknown as PackageFacts,
  }) as Candidate

/** Reads of a package, counted. */
function source(characters: number) {
  const reads: Candidate[] = []
  const read = async () => {
    const one = candidate(characters)
    reads.push(one)
    return one
  }
  return { reads, read }
}

test('packages with short lists never wait, and those with long ones while they fit together', async () => {
  const room = createFactsRoom(100, 10)
  const held = await Promise.all([60, 40, 10, 10].map((characters) => room.read(source(characters).read)))
  expect(held.map(({ candidate: { filename } }) => filename)).toEqual(['60', '40', '10', '10'])
})

test('one that does not fit is read again in its turn, in the order of arrival', async () => {
  const room = createFactsRoom(100, 10)
  const first = await room.read(source(70).read)
  const ends: string[] = []
  const waiting = [50, 20].map((characters) => {
    const { reads, read } = source(characters)
    const entered = room.read(read).then((got) => {
      ends.push(got.candidate.filename)
      return got
    })
    return { reads, entered }
  })
  await Promise.resolve()
  await new Promise(setImmediate)
  // The second would fit, but the first of those that wait must not wait for ever.
  expect([ends, waiting.map(({ reads }) => reads.length)]).toEqual([[], [1, 1]])
  first.leave()
  const [one] = await Promise.all(waiting.map(({ entered }) => entered))
  expect([ends, waiting.map(({ reads }) => reads.length)]).toEqual([
    ['50', '20'],
    [2, 2],
  ])
  expect(one!.candidate).toBe(waiting[0]!.reads[1])
})

test('one that is longer than the whole room passes alone', async () => {
  const room = createFactsRoom(100, 10)
  const large = source(5000)
  const { leave, candidate: got } = await room.read(large.read)
  expect([got, large.reads.length]).toEqual([large.reads[0], 1])
  let entered = false
  const next = room.read(source(11).read).then((one) => {
    entered = true
    return one
  })
  await new Promise(setImmediate)
  expect(entered).toBe(false)
  leave()
  await next
})

test('a failure of the second reading gives the room back', async () => {
  const room = createFactsRoom(100, 10)
  const first = await room.read(source(100).read)
  let reads = 0
  const failing = room.read(async () => {
    if (++reads === 2) throw new Error('the file is gone')
    return candidate(50)
  })
  first.leave()
  await expect(failing).rejects.toThrow('the file is gone')
  await room.read(source(100).read)
})

test('a package whose record is stored keeps no lists in memory', () => {
  expect(withoutLists(candidate(1000)).facts).toMatchObject({ name: 'a', files: [], requirements: [], provides: [] })
})
