import { expect, test } from 'vitest'
import type { CatalogRow, SourceRow } from '../store/tables.ts'
import { listingOf } from './fetch-entry.ts'

test.each([
  ['has keys and a signed index', ['key'], ['ABC'], null],
  ['has keys and an index that is not signed', ['key'], [], ['key']],
  ['has no keys', [], [], null],
])('a source that %s asks for %#', (_, keys, signed_by, signers) => {
  const source = { id: 1, keys: keys.map((text) => ({ name: null, text })), signed_by } as unknown as SourceRow
  const entry = { name: 'a', version: '1', arch: 'noarch' } as CatalogRow
  expect(listingOf({ source, entry }).signers).toEqual(signers)
})
