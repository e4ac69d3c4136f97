// What is recorded about an error.
import { expect, test } from 'vitest'
import { Problem } from '../domain/problem.ts'
import { failureOf } from './failure.ts'

const withCode = (code: string) => Object.assign(new Error('secret'), { code })

test.each([
  ['a problem', new Problem('not_found', 'no such package'), ['not_found', 'no such package', false]],
  ['a full disk', withCode('ENOSPC'), ['storage_full', 'the disk is full', true]],
  ['a full disk of PostgreSQL', withCode('53100'), ['storage_full', 'the disk of the database is full', true]],
  ['a used quota', withCode('EDQUOT'), ['storage_full', 'the disk is full', true]],
  ['another error', withCode('EIO'), ['internal_error', 'an unexpected error; the log has it', true]],
  ['no error object', undefined, ['internal_error', 'an unexpected error; the log has it', true]],
])('%s', (_, error, expected) => {
  const { code, detail, isUnexpected } = failureOf(error)
  expect([code, detail, isUnexpected]).toEqual(expected)
})
