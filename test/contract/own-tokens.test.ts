// API tokens that people make for themselves: who may make which, and that they never exceed their owner.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROLES, type Role } from '../../src/domain/roles.ts'
import { PASSWORD, startGate, type Gate } from './harness.ts'

let gate: Gate
beforeAll(async () => void (gate = await startGate()))
afterAll(() => gate?.close())

interface Made {
  token: string
  token_id: string
  role: Role
}
interface Listed {
  tokens: { name: string; role: Role; acts_as: Role; active: boolean; token_id: string }[]
}

const make = (as: string, body: object) => gate.call<Made & { code: string }>('POST', '/auth/me/tokens', { as, body })
const own = async (as: string) =>
  (await gate.call<Listed & Record<string, unknown>>('GET', '/auth/me/tokens', { as })).body.tokens
const meets = (role: Role) => gate.people[role].session

/** For each owner, the roles that a token of theirs may have. */
const MAY: Record<Role, readonly Role[]> = {
  admin: ROLES,
  maintainer: ['maintainer', 'uploader', 'auditor', 'reader'],
  uploader: ['uploader', 'reader'],
  auditor: [],
  reader: [],
}

test.each(ROLES.flatMap((owner) => ROLES.map((role) => [owner, role] as const)))(
  '%s makes a token as %s',
  async (owner, role) => {
    const made = await make(meets(owner), { name: `${role} of ${owner}`, role })
    const may = MAY[owner].includes(role)
    expect([made.status, may ? made.body.role : made.body.code]).toEqual(may ? [201, role] : [403, 'forbidden'])
    if (!may) return
    const { body } = await gate.call('GET', '/auth/me', { as: made.body.token })
    expect(body).toMatchObject({ username: `token:${role} of ${owner}`, role })
  },
)

test('each sees and ends the own ones only; administrators see all', async () => {
  const { body: mine } = await make(meets('uploader'), { name: 'mine' })
  const { body: others } = await make(meets('maintainer'), { name: 'of another' })
  const names = (await own(meets('uploader'))).map(({ name }) => name)
  expect(names).toContain('mine')
  expect(names).not.toContain('of another')
  const all = await gate.call<Listed & Record<string, unknown>>('GET', '/auth/api-tokens')
  expect(all.body.tokens.map(({ name }) => name)).toEqual(expect.arrayContaining(['mine', 'of another']))
  const end = (id: string) => gate.call('DELETE', `/auth/me/tokens/${id}`, { as: meets('uploader') })
  expect((await end(others.token_id)).body['code']).toBe('not_found')
  expect((await gate.call('GET', '/auth/me', { as: others.token })).status).toBe(200)
  expect((await end(mine.token_id)).body).toEqual({ status: 'revoked', token_id: mine.token_id })
  expect((await gate.call('GET', '/auth/me', { as: mine.token })).status).toBe(401)
  expect((await end(mine.token_id)).body['code']).toBe('not_found')
  const { body } = await gate.call<{ items: object[] }>('GET', '/artifacts/audit/logs?user=uploader-person&per_page=10')
  expect(body.items).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ action: 'TOKEN_REVOKE', detail: 'token mine revoked' }),
      expect.objectContaining({ action: 'TOKEN_CREATE', detail: 'token mine created as uploader' }),
    ]),
  )
})

describe('an owner whose role shrinks', () => {
  test('shrinks the tokens, says so, and can still end them', async () => {
    const person = { username: 'shrinking', password: PASSWORD }
    await gate.call('POST', '/auth/users', { body: { ...person, role: 'maintainer' } })
    const as = await gate.login(person.username)
    const { body } = await make(as, { name: 'shrinks', role: 'maintainer' })
    const role = async () => (await gate.call('GET', '/auth/me', { as: body.token })).body['role']
    expect(await role()).toBe('maintainer')
    for (const less of ['uploader', 'reader'] as const) {
      await gate.call('PATCH', '/auth/users/shrinking', { body: { role: less } })
      expect([await role(), await own(as)]).toMatchObject([less, [{ role: 'maintainer', acts_as: less }]])
    }
    expect((await make(as, { name: 'one more', role: 'reader' })).body.code).toBe('forbidden')
    expect((await gate.call('DELETE', `/auth/me/tokens/${body.token_id}`, { as })).status).toBe(200)
    await gate.call('DELETE', '/auth/users/shrinking')
    expect(await gate.call('GET', '/auth/me', { as: body.token })).toMatchObject({ status: 401 })
  })
})

test.each<[what: string, body: object, status: number, code: string]>([
  ['a name that is live', { name: 'uploader-robot' }, 409, 'already_exists'],
  ['the name of a token of a CI job', { name: 'release#0123abcd' }, 400, 'validation_error'],
  ['an unknown role', { name: 'odd', role: 'root' }, 400, 'invalid_role'],
  ['an unknown distribution', { name: 'odd', scopes: { distributions: ['none'] } }, 400, 'unknown_distribution'],
  ['an empty scope', { name: 'odd', scopes: { names: [] } }, 400, 'validation_error'],
])('%s is refused', async (_, body, status, code) => {
  const reply = await make(meets('maintainer'), body)
  expect([reply.status, reply.body.code]).toEqual([status, code])
})

test('a token makes no further tokens for its owner', async () => {
  const { body } = await make(meets('maintainer'), { name: 'parent', role: 'maintainer' })
  const reply = await make(body.token, { name: 'child' })
  expect([reply.status, reply.body.code]).toEqual([403, 'session_required'])
})

test('the live tokens of a person are limited; one that ends makes room', async () => {
  const as = meets('uploader')
  const live = async () => (await own(as)).filter(({ active }) => active)
  for (let left = 50 - (await live()).length; left > 0; left--)
    expect((await make(as, { name: `filler ${left}` })).status).toBe(201)
  expect((await make(as, { name: 'one too many' })).body.code).toBe('forbidden')
  const [one] = await live()
  await gate.call('DELETE', `/auth/me/tokens/${one?.token_id}`, { as })
  expect((await make(as, { name: 'one too many' })).status).toBe(201)
})
