// The comparison of replies with the OpenAPI document finds what it should.
import { expect, test } from 'vitest'
import type { Route } from '../../src/api/http/route.ts'
import {
  getDistributionsCodename,
  getDistributionsCodenamePackages,
} from '../../src/api/distributions/distributions.contract.ts'
import { getAuthUsersUsername } from '../../src/api/auth/auth.contract.ts'
import { getDashboardEvents } from '../../src/api/dashboard/dashboard.contract.ts'
import { undocumented, undocumentedEvents } from './document.ts'

const user = {
  ...{ id: 1, username: 'ada', role: 'reader', full_name: '', email: '', active: true, auth_source: 'local' },
  ...{ mfa_enabled: false, suspended_at: null, created_at: '2026-01-01T00:00:00+00:00', last_login: null },
}
const missing = { detail: 'there is no such user', code: 'not_found' }

const fault = (declaration: unknown, status: number, body: Record<string, unknown>, type = 'application/json') =>
  undocumented(declaration as Route, 'GET', {
    ...{ status, body, text: JSON.stringify(body), headers: { 'content-type': `${type}; charset=utf-8` } },
  })

test('what is declared passes: answers, and errors of the operation and of every operation', () => {
  expect(fault(getAuthUsersUsername, 200, user)).toBeNull()
  expect(fault(getAuthUsersUsername, 404, missing)).toBeNull()
  expect(fault(getAuthUsersUsername, 429, { detail: 'x', code: 'rate_limited', limit: 1, retry_after: 2 })).toBeNull()
})

test.each([
  ['a key that is not declared', getAuthUsersUsername, 200, { ...user, shoe_size: 44 }, 'has shoe_size'],
  [
    'a key that is not declared, inside',
    getDistributionsCodenamePackages,
    200,
    { codename: 'x', total: 1, packages: [{ name: 'a', version: '1', arch: 'b', extra: 1 }] },
    '/packages/0 has extra',
  ],
  ['a missing key', getDistributionsCodename, 200, { codename: 'x' }, "must have required property 'name'"],
  ['a wrong type', getAuthUsersUsername, 200, { ...user, id: 'one' }, '/id must be integer'],
  ['a moment that is none', getAuthUsersUsername, 200, { ...user, created_at: 'yesterday' }, '/created_at'],
  ['a status that is not declared', getAuthUsersUsername, 201, user, 'a status that the document does not have'],
  ['a code of another operation', getAuthUsersUsername, 404, { ...missing, code: 'index_empty' }, '/code'],
  ['a key of errors that is not declared', getAuthUsersUsername, 404, { ...missing, hint: 'look there' }, 'has hint'],
])('%s is found', (_, declaration, status, body, found) => {
  expect(fault(declaration, status, body)).toContain(found)
})

test('another media type is found', () => {
  expect(fault(getAuthUsersUsername, 200, user, 'text/html')).toContain('as text/html')
})

test('an event that is not declared, or has another shape, is found', () => {
  const stream = (event: string, data: object) =>
    undocumentedEvents(getDashboardEvents, `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  expect(stream('review_queue', { pending: 3 })).toBeNull()
  expect(stream('heartbeat', {})).toBeNull()
  expect(stream('surprise', {})).toContain('the event surprise')
  expect(stream('review_queue', { pending: 'three' })).toContain('/pending must be integer')
  expect(stream('review_queue', { pending: 3, since: 1 })).toContain('has since')
})
