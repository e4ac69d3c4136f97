import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '../domain/problem.ts'
import { isTraced, recordSpan, SPAN_BEGINS, SPAN_ENDS, SPAN_LEAVES, trace, traceHeaders, type Span } from './trace.ts'

test('nobody listening: the work runs as it is, also when it throws at once', async () => {
  expect(isTraced()).toBe(false)
  expect(await trace('a', {}, async (seen) => ((seen['x'] = 1), 5))).toBe(5)
  expect(() =>
    trace('a', {}, () => {
      throw new Error('at once')
    }),
  ).toThrow('at once')
  expect(traceHeaders()).toEqual({})
})

describe('with a listener', () => {
  const current = new AsyncLocalStorage<Span>()
  const ended: [name: string, inside: string | undefined, failure: string | undefined][] = []
  const around = new Map<Span, Span | undefined>()
  const begins = (message: unknown) => {
    around.set(message as Span, current.getStore())
    return message as Span
  }
  const ends = (message: unknown) => {
    const span = message as Span
    ended.push([span.name, around.get(span)?.name, span.failure])
  }
  const leaves = (message: unknown) => Object.assign(message as object, { traceparent: current.getStore()?.name })
  beforeEach(() => {
    ended.length = 0
    SPAN_BEGINS.bindStore(current, begins)
    subscribe(SPAN_ENDS.name, ends)
    subscribe(SPAN_LEAVES.name, leaves)
  })
  afterEach(() => {
    SPAN_BEGINS.unbindStore(current)
    unsubscribe(SPAN_ENDS.name, ends)
    unsubscribe(SPAN_LEAVES.name, leaves)
  })

  test('work is inside the span that called it, also of two that run at the same time', async () => {
    const branch = (name: string) =>
      trace(name, {}, async () => {
        await Promise.resolve()
        await trace(`part of ${name}`, {}, async () => {})
        expect(traceHeaders()).toEqual({ traceparent: name })
      })
    await trace('outer', {}, async () => {
      await Promise.all([branch('one'), branch('two')])
      recordSpan({ name: 'past', kind: 'client', attributes: {} }, 5)
    })
    expect(ended.sort()).toEqual([
      ['one', 'outer', undefined],
      ['outer', undefined, undefined],
      ['part of one', 'one', undefined],
      ['part of two', 'two', undefined],
      ['past', 'outer', undefined],
      ['two', 'outer', undefined],
    ])
  })

  test.each<[string, unknown]>([
    ['already_exists', new Problem('already_exists', 'a-secret is there')],
    ['ECONNREFUSED', Object.assign(new Error('a-secret'), { code: 'ECONNREFUSED' })],
    ['TypeError', new TypeError('a-secret')],
    ['error', Object.assign(new Error('x'), { name: 'a-secret of many words' })],
    ['error', 'a-secret'],
  ])('a failure is the word %s, never a message', async (word, error) => {
    await expect(trace('fails', {}, () => Promise.reject(error as Error))).rejects.toBe(error)
    expect(ended).toEqual([['fails', undefined, word]])
  })
})
