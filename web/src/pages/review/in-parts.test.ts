import { expect, test } from 'vitest'
import { inParts, PART } from './in-parts.ts'
import { outcomesOf } from './outcomes.ts'

const items = Array.from({ length: 2 * PART + 50 }, (_, i) => i)

test('every item is sent once, in order, and progress counts those that are answered', async () => {
  const seen: number[] = []
  const { answers, failure } = await inParts(items, async (part) => part, { progress: (n) => seen.push(n) })
  expect(answers.flat()).toEqual(items)
  expect(failure).toBeUndefined()
  expect(seen).toEqual([PART, 2 * PART, items.length])
})

test('nothing is sent after a part that failed; a first part that fails is an error', async () => {
  const away = new Error('the connection broke off')
  const sent: number[] = []
  const failing = (from: number) => async (part: number[]) => {
    sent.push(part.length)
    if ((part[0] ?? 0) >= from) throw away
    return part
  }
  expect(await inParts(items, failing(PART))).toEqual({ answers: [items.slice(0, PART)], failure: away })
  expect(sent).toEqual([PART, PART])
  await expect(inParts(items, failing(0))).rejects.toBe(away)
})

test('an ended signal stops before the next part', async () => {
  const end = new AbortController()
  const sent: number[] = []
  const work = inParts(items, async (part) => sent.push(part.length), {
    signal: end.signal,
    progress: () => end.abort(),
  })
  await expect(work).rejects.toThrow()
  expect(sent).toEqual([PART])
})

const answered = (n: number, failed: number, publishes: string[]) => ({
  ...{ status: 'partial' as const, decided: n - failed, failed, publishes },
  items: Array.from({ length: n }, (_, i) => ({
    ...{ package: `p${i}`, version: '1', records: [], decisions: [], code: null },
    ...(i < failed
      ? { result: 'failed' as const, detail: 'is published' }
      : { result: 'decided' as const, detail: null }),
  })),
})

test('outcomes of all parts are one, and those without an answer say whether they were sent', () => {
  const whole = outcomesOf({ answers: [answered(PART, 3, ['noble']), answered(50, 0, ['jammy', 'noble'])] }, PART + 50)
  expect(whole).toMatchObject({ decided: PART + 47, failed: 3, publishes: ['jammy', 'noble'], parts: 2 })
  const broken = outcomesOf({ answers: [answered(PART, 0, ['noble'])], failure: new Error('away') }, 3 * PART)
  expect(broken).toMatchObject({ decided: PART, failed: 2 * PART, parts: 1 })
  expect(broken.items[PART]?.detail).toBe('away; look again whether it is decided')
  expect(broken.items[2 * PART]?.detail).toBe('not sent, because the part before it failed')
})
