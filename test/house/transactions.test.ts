// `transaction` repeats a transaction that PostgreSQL ended because of others: code that begins one by hand would answer 500.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../../src')
const BY_HAND = [
  // It replaces the link that clients follow, which must not happen twice.
  'publish/flip.ts',
  // The same for the file of a name.
  'publish/listing/listing-publisher.ts',
  'store/transaction.ts',
]

test('transactions are run by store/transaction.ts', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/\.(?:test|fixture)\.ts$/.test(name),
  )
  const direct = files.filter((name) =>
    /\.(?:transaction|startTransaction)\(\)/.test(readFileSync(join(SRC, name), 'utf8')),
  )
  expect(direct.sort()).toEqual(BY_HAND)
})
