// The memory of small files: its limit, and what is evicted first.
import { expect, test } from 'vitest'
import { createBodyCache } from './body-cache.ts'

const kilobytes = (n: number) => n * 1024

test('the cache keeps recently used entries and evicts others', () => {
  const cache = createBodyCache(40 * 1024)
  cache.set('a', {}, kilobytes(10))
  cache.set('b', {}, kilobytes(10))
  cache.set('c', {}, kilobytes(10))
  cache.get('a')
  cache.set('d', {}, kilobytes(10))
  expect(cache.get('b')).toBeUndefined()
  expect([cache.get('a'), cache.get('c'), cache.get('d')].every(Boolean)).toBe(true)
})

test('the cache never exceeds its limit, even with empty entries', () => {
  const cache = createBodyCache(100 * 1024)
  for (let i = 0; i < 1000; i++) {
    cache.set(`k${i}`, {}, kilobytes(i % 3))
    expect(cache.sizeBytes).toBeLessThanOrEqual(100 * 1024)
  }
})

test('replacing and deleting entries frees their space', () => {
  const cache = createBodyCache(100 * 1024)
  for (let i = 0; i < 10; i++) cache.set('same', {}, kilobytes(50))
  expect(cache.sizeBytes).toBeLessThan(53 * 1024)
  cache.delete('same')
  cache.delete('same')
  expect(cache.sizeBytes).toBe(0)
})

test('a body over the limit is not stored and evicts nothing', () => {
  const cache = createBodyCache(100 * 1024)
  cache.set('a', {}, kilobytes(10))
  cache.set('big', {}, kilobytes(200))
  expect(cache.get('big')).toBeUndefined()
  expect(cache.get('a')).toBeDefined()
})
