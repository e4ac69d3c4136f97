import { expect, test } from 'vitest'
import { StartError, startFailure } from './start-error.ts'

const coded = (code: string) => Object.assign(new Error('words'), { code })

test.each([
  ['a fault of the deployment', new StartError('words')],
  ['a port in use', coded('EADDRINUSE')],
  ['a directory that may not be written', coded('EACCES')],
  ['a wrong database password', coded('28P01')],
  ['a database that does not exist', coded('3D000')],
])('%s is told in one sentence', (_what, error) => {
  expect(startFailure(error)).toBe('cannot start: words')
})

test.each([
  ['a bug', new Error('words')],
  ['a bug that Node names', coded('ERR_INVALID_ARG_TYPE')],
  ['a migration that fails', coded('42601')],
])('%s is told with its stack trace', (_what, error) => {
  expect(startFailure(error)).toMatch(/^cannot start: Error: words\n +at /)
})
