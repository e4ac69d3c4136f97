// Where the ID token of a CI job comes from.
import { expect, test } from 'vitest'
import { idTokenAddress, idTokenSource } from './ci.ts'

const GITHUB = { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://ci.example/token?run=7', ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'b' }

test.each([
  [{}, null],
  [{ GATEHOUSE_ID_TOKEN: 'a.b.c\n' }, { kind: 'given', token: 'a.b.c' }],
  [GITHUB, { kind: 'request', url: 'https://ci.example/token?run=7', bearer: 'b' }],
  [
    { ...GITHUB, GATEHOUSE_ID_TOKEN: 'a.b.c' },
    { kind: 'given', token: 'a.b.c' },
  ],
  [{ ACTIONS_ID_TOKEN_REQUEST_URL: 'https://ci.example/token' }, null],
])('%j: %j', (env, source) => {
  expect(idTokenSource(env)).toEqual(source)
})

test('the audience is added to what the address has', () => {
  expect(idTokenAddress(GITHUB.ACTIONS_ID_TOKEN_REQUEST_URL, 'https://gate.example.org')).toBe(
    'https://ci.example/token?run=7&audience=https%3A%2F%2Fgate.example.org',
  )
})
