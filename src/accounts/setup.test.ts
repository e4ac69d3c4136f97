import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import * as bcrypt from '@node-rs/bcrypt'
import { createTestDatabase } from '../../test/database.ts'
import type { Database } from '../store/db.ts'
import { createAccounts, GOOD, ORIGIN, otherProcess, OTHER, outcome, outcomes, ROOT, type Accounts } from './fixture.ts'

let database: Database & { url: string }
let at: Accounts
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => database.close())
beforeEach(async () => {
  at = await createAccounts(database.db)
  await database.db.deleteFrom('users').execute()
  await database.db.deleteFrom('audit').execute()
  return () => at.close()
})

const FIRST = { admin_username: 'Ada', admin_password: GOOD }

test('the first admin is created once and is logged in', async () => {
  expect(await at.setup.status()).toEqual({
    admin_exists: false,
    setup_done: false,
    needs_setup: true,
    setup_token_required: false,
    checked_at: '2026-03-01T12:00:00.000+00:00',
  })
  const wanted = {
    ...FIRST,
    admin_email: 'ada@example.org',
    admin_full_name: 'Ada L.',
    app_url: 'https://gate.example.org/',
  }
  const answer = await at.setup.createFirstAdmin(wanted, undefined, ORIGIN)
  expect(answer).toMatchObject({ admin_username: 'Ada', token_type: 'bearer', message: 'the first admin was created' })
  expect(await at.authenticate(`Bearer ${answer.access_token}`)).toMatchObject({ name: 'Ada', role: 'admin' })
  expect(at.appUrls).toEqual(['https://gate.example.org'])
  expect((await at.users.list()).users).toMatchObject([
    { username: 'Ada', email: 'ada@example.org', full_name: 'Ada L.', role: 'admin' },
  ])
  expect(await at.audited()).toMatchObject([{ action: 'SETUP', result: 'SUCCESS', user: 'Ada' }])
  expect(await at.setup.status()).toMatchObject({ admin_exists: true, setup_done: true, needs_setup: false })
  expect(await outcome(at.setup.createFirstAdmin({ ...FIRST, admin_username: 'eve' }, undefined, ORIGIN))).toBe(
    'setup_done',
  )
})

test('exactly one of several parallel calls, seeding included, creates an admin', async () => {
  const other = await otherProcess(database)
  const second = await createAccounts(other.db)
  const passwordHash = await bcrypt.hash(GOOD, 4)
  for (let round = 0; round < 4; round++) {
    await database.db.deleteFrom('users').execute()
    const race = Array.from({ length: 6 }, (_, i) =>
      (i % 2 ? at : second).setup.createFirstAdmin({ ...FIRST, admin_username: `admin${i}` }, undefined, ORIGIN),
    )
    const seeds = [at, second].map((each, i) => each.setup.seedAdmin({ username: `seed${i}`, passwordHash }))
    const won = (await outcomes(race)).filter((code) => code === 'ok').length
    const seeded = (await Promise.all(seeds)).filter((seed) => seed.seeded).length
    expect(won + seeded).toBe(1)
    expect((await at.users.list()).total).toBe(1)
  }
  await second.close()
  await other.close()
})

test('a configured setup token is required', async () => {
  const guarded = await createAccounts(database.db, { setupToken: 'let-me-in' })
  expect(await guarded.setup.status()).toMatchObject({ setup_token_required: true })
  for (const token of [undefined, '', 'let-me-i', 'let-me-in ', 'Let-me-in']) {
    expect(await outcome(guarded.setup.createFirstAdmin(FIRST, token, ORIGIN))).toBe('setup_token_invalid')
  }
  expect(await outcome(guarded.setup.createFirstAdmin(FIRST, 'let-me-in', ORIGIN))).toBe('ok')
  expect(await outcome(guarded.setup.createFirstAdmin(FIRST, 'wrong', ORIGIN))).toBe('setup_done')
  await guarded.close()
})

test.each([
  [{ ...FIRST, admin_username: 'a' }, 'validation_error'],
  [{ ...FIRST, admin_password: 'weak' }, 'weak_password'],
  [{ ...FIRST, admin_email: 'x' }, 'validation_error'],
  [{ ...FIRST, app_url: 'javascript:alert(1)' }, 'validation_error'],
  [{ ...FIRST, app_url: 'https://u:p@gate.example.org' }, 'validation_error'],
  [{ ...FIRST, app_url: 'gate.example.org' }, 'validation_error'],
])('a first admin %j is refused: %s', async (wanted, code) => {
  expect(await outcome(at.setup.createFirstAdmin(wanted, undefined, ORIGIN))).toBe(code)
  expect(await at.setup.status()).toMatchObject({ needs_setup: true })
})

test('an app_url that cannot be saved is reported, and the admin remains', async () => {
  const { message } = await at.setup.createFirstAdmin(
    { ...FIRST, app_url: 'https://unsavable.example.org' },
    undefined,
    ORIGIN,
  )
  expect(message).toContain('app_url')
  expect(at.errors).toHaveLength(1)
  expect(await outcome(at.signIn('Ada'))).toBe('ok')
})

test('a seeded admin logs in with the imported password, and is seeded only while no admin exists', async () => {
  const passwordHash = (await bcrypt.hash(GOOD, 6)).replace('$2b$', () => '$2y$')
  expect(await at.setup.seedAdmin({ username: 'Root', passwordHash })).toEqual({ seeded: true, reason: null })
  expect(await at.audited()).toMatchObject([{ action: 'SETUP', user: 'system', extra: { username: 'Root' } }])
  expect(await outcomes([at.signIn('root'), at.signIn('root', OTHER)])).toEqual(['ok', 'unauthorized'])
  expect(await at.setup.seedAdmin({ username: 'Root', passwordHash })).toEqual({
    seeded: false,
    reason: 'an admin exists already',
  })
  expect(await at.setup.seedAdmin({ username: 'again', passwordHash })).toMatchObject({ seeded: false })
  await at.users.create(ROOT, { username: 'eve', password: GOOD, role: 'admin' }, ORIGIN)
  await at.users.remove(ROOT, 'Root', ORIGIN)
  expect(await at.setup.seedAdmin({ username: 'Root', passwordHash })).toMatchObject({ seeded: false })
})

test.each([
  ['a', '$2b$12$' + 'a'.repeat(53), /ADMIN_USERNAME/],
  ['root', '$2x$12$' + 'a'.repeat(53), /ADMIN_PASSWORD_HASH/],
  ['root', 'Plain-text-1', /ADMIN_PASSWORD_HASH/],
  ['root', '', /ADMIN_PASSWORD_HASH/],
])('a seed %s %s is not used, and the reason names the variable only', async (username, passwordHash, reason) => {
  const seeded = await at.setup.seedAdmin({ username, passwordHash })
  expect(seeded).toMatchObject({ seeded: false, reason: expect.stringMatching(reason) })
  expect(passwordHash === '' || !seeded.reason?.includes(passwordHash)).toBe(true)
})

test('the preflight is open until an admin exists, then for admins', async () => {
  const checks = {
    antivirus: async () => Promise.reject(new Error('secret path in here')),
    tls: async () => ({ ok: false, detail: 'no certificate' }),
  }
  const fresh = await createAccounts(database.db, { checks })
  const { checks: results } = await fresh.setup.preflight(null)
  expect(Object.keys(results)).toEqual(['database', 'disk_space', 'antivirus', 'vulnscan', 'secrets', 'tls'])
  expect(results).toMatchObject({
    database: { ok: true, detail: 'fine' },
    antivirus: { ok: false },
    tls: { ok: false, detail: 'no certificate' },
  })
  expect(results.antivirus.detail).not.toContain('secret')
  expect(fresh.errors).toHaveLength(1)
  await fresh.setup.createFirstAdmin(FIRST, undefined, ORIGIN)
  expect(await outcome(fresh.setup.preflight(null))).toBe('unauthorized')
  expect(await outcome(fresh.setup.preflight({ ...ROOT, role: 'maintainer' }))).toBe('forbidden')
  expect(await outcome(fresh.setup.preflight(ROOT))).toBe('ok')
  await fresh.close()
})

test('parallel preflight requests share one run of the checks', async () => {
  let runs = 0
  let answered = 0
  let open = () => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const counted = database.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => (answered++, result),
  })
  const tls = async () => (runs++, await gate, { ok: true, detail: 'fine' })
  const fresh = await createAccounts(counted, { checks: { tls } })
  const calls = Array.from({ length: 6 }, () => fresh.setup.preflight(null))
  while (answered < calls.length) await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  open()
  await Promise.all(calls)
  // All share one, or those that came while it was under way share the next.
  expect(runs).toBeLessThanOrEqual(2)
  await fresh.close()
})
