import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { declarations } from '../contract.ts'
import { descriptionOf } from './openapi.ts'
import type { Declaration } from './route.ts'

const nameOf = ({ method, path }: Declaration) => `${method} ${path}`
const withBody = declarations.filter(({ body, flags }) => body && !flags?.hidden)

describe('the example of', () => {
  test.each(withBody.map((route) => [nameOf(route), route] as const))('%s is a body that it takes', (_, route) => {
    expect(route.example).toBeDefined()
    expect([...Value.Errors(route.body ?? {}, route.example)]).toEqual([])
  })
})

test.each([
  ['POST /auth/token', 'No credential is needed. At most 10 requests per minute and address.'],
  [
    'POST /distributions/promote',
    'Roles: admin, maintainer. Tokens with scopes need the action `promote`. At most 5 requests per minute and caller.',
  ],
  [
    'POST /auth/logout',
    "Roles: admin, maintainer, uploader, auditor, reader. It needs a login session: an API token is answered `session_required`. It counts as a write of the role's rate limit.",
  ],
])('the description of %s says who may call it and how often', (name, text) => {
  const route = declarations.find((one) => nameOf(one) === name) as Declaration
  expect(descriptionOf(route)).toBe(text)
})
