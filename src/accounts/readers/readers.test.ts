// Rights to read, from the rows to what a listener knows: people, groups, machines, tags, and every way in which a right ends.
import { randomUUID } from 'node:crypto'
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Caller } from '../../domain/caller.ts'
import { HOUR_MS } from '../../domain/durations.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Scopes } from '../../domain/scopes.ts'
import { randomToken } from '../../kernel/crypto.ts'
import { createLog } from '../../kernel/log.ts'
import { certificateKey, newFactsKey } from '../../serve/access/facts.ts'
import { digestsOf } from '../../serve/access/credentials.ts'
import { createKnownAccess, type KnownAccess } from '../../serve/access/known-access.ts'
import type { Database } from '../../store/db.ts'
import { createAccounts, DEFAULTS, GOOD, ORIGIN, outcome, outcomes, ROOT, type Accounts } from '../fixture.ts'
import type { ReaderKind } from '../../store/tables.ts'
import { tokenHash } from '../tokens.ts'
import { createFactsWriter } from './facts-writer.ts'
import { createPlaceRights } from './place-rights.ts'

const PLACES = ['jammy', 'noble', 'npm/team'] as const

let database: Database & { url: string }
let at: Accounts
let known: KnownAccess
let groups: string[] = []
let publishers: Settings['trusted_publishing']['publishers'] = []
const settings: Settings = {
  ...DEFAULTS,
  ldap: { ...DEFAULTS.ldap, enabled: true, host: 'directory.example.org' },
  trusted_publishing: {
    get publishers() {
      return publishers
    },
  },
}

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  const { db } = database
  for (const table of ['readers', 'machines', 'machine_enrolments', 'api_tokens', 'users', 'distributions'] as const)
    await db.deleteFrom(table).execute()
  at = await createAccounts(db, {
    settings,
    directory: {
      check: async (username) => ({ username, email: '', fullName: '', groups }),
      look: async (username) => ({ username, email: '', fullName: '', groups }),
      test: async () => ({ status: 'ok', message: '' }),
    },
  })
  for (const codename of PLACES)
    await db.insertInto('distributions').values({ codename, format: 'deb', definition: '{}', private: true }).execute()
  await at.users.create(ROOT, { username: 'ben', password: GOOD, role: 'reader' }, ORIGIN)
  await at.audited()
  const keyPath = join(at.directory, 'access.pub')
  await writeFile(keyPath, at.factsKey)
  const log = createLog('silent')
  known = createKnownAccess({ directory: at.directory, keyPath, clock: at.clock, log, hours: 24 })
  return () => at.close()
})

/** What a token may read, once the service has written what is due and the listener has looked. */
async function reads(token: string): Promise<string[] | null> {
  at.pass(1)
  await at.factsWriter.writeDue()
  await known.look()
  expect(known.fault()).toBeNull()
  const reader = known.byToken(digestsOf(`Bearer ${token}`))
  return reader && [...reader.places].sort()
}
const allow = (place: string, kind: ReaderKind, name: string) => at.readers.add({ place, kind, name }, ROOT, ORIGIN)
const machine = (name: string, tags: string[] = []) => at.machines.create({ name, tags }, ROOT, ORIGIN)
async function tokenOf(username: string, scopes?: Scopes): Promise<{ token: string; id: string; caller: Caller }> {
  const caller = await at.signIn(username)
  const made = await at.tokens.create(
    caller,
    { name: `of ${username} ${Math.random()}`, role: 'reader', ...(scopes ? { scopes } : {}) },
    ORIGIN,
  )
  return { token: made.token, id: made.token_id, caller }
}

describe('machines', () => {
  test('read what their name or a tag gives, until they are revoked', async () => {
    const [web, other] = [await machine('web-01', ['web']), await machine('db-01')]
    expect(await reads(web.token)).toEqual([])
    await allow('jammy', 'tag', 'web')
    const right = await allow('npm/team', 'machine', 'WEB-01')
    expect(await reads(web.token)).toEqual(['jammy', 'npm/team'])
    expect(await reads(other.token)).toEqual([])
    await at.readers.remove(right.id, ROOT, ORIGIN)
    expect(await reads(web.token)).toEqual(['jammy'])
    await at.machines.update(web.id, { tags: [] }, ROOT, ORIGIN)
    expect(await reads(web.token)).toEqual([])
    await at.machines.update(web.id, { tags: ['web'] }, ROOT, ORIGIN)
    const renewed = await at.machines.renew(web.id, ROOT, ORIGIN)
    expect(await reads(web.token)).toBeNull()
    expect(await reads(renewed.token)).toEqual(['jammy'])
    await at.machines.revoke(web.id, ROOT, ORIGIN)
    expect(await reads(renewed.token)).toBeNull()
    expect(await outcome(at.machines.revoke(web.id, ROOT, ORIGIN))).toBe('not_found')
  })

  test('a right is not inherited by a later machine of the name', async () => {
    const first = await machine('web-01')
    await allow('jammy', 'machine', 'web-01')
    await at.machines.revoke(first.id, ROOT, ORIGIN)
    const second = await machine('web-01')
    expect(await reads(second.token)).toEqual([])
  })

  test('a certificate stands for the machine that has it', async () => {
    const fingerprint = 'AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01'
    await at.machines.create({ name: 'web-01', tags: ['web'], certificate: fingerprint }, ROOT, ORIGIN)
    await allow('jammy', 'tag', 'web')
    await at.factsWriter.write()
    await known.look()
    expect(known.byCertificate(certificateKey(fingerprint.replaceAll(':', '').toLowerCase()))?.name).toBe(
      'machine:web-01',
    )
    expect(known.byCertificate(certificateKey('CN=web-01'))).toBeNull()
    expect(await outcome(at.machines.create({ name: 'web-02', certificate: fingerprint }, ROOT, ORIGIN))).toBe(
      'already_exists',
    )
  })

  test('that take one name or certificate at the same moment: one has it', async () => {
    const two = [await machine('db-01'), await machine('db-02')]
    for (const fields of [{ name: 'Web-01' }, { certificate: 'CN=web-01' }]) {
      const renamed = await outcomes(two.map(({ id }) => at.machines.update(id, fields, ROOT, ORIGIN)))
      expect(renamed.sort()).toEqual(['already_exists', 'ok'])
    }
    const made = await outcomes(['web-02', 'WEB-02'].map((name) => machine(name)))
    expect(made.sort()).toEqual(['already_exists', 'ok'])
  })

  test('are at most as many as listeners can keep in memory', async () => {
    await sql`insert into machines (name, tags, rights, token_hash, token_hint, created_at, created_by)
      select 'm' || n, '{}', '{read}', n::text, '', now(), '' from generate_series(1, 100000) n`.execute(database.db)
    expect(await outcome(machine('web-01'))).toBe('machines_full')
  })

  test.each(['web 01', 'a"b', '', 'ü', '-x'])('tags like %j are refused', async (tag) => {
    expect(await outcome(machine('web-01', [tag]))).toBe('validation_error')
  })

  test('their token is stored as a digest, and in no audit entry', async () => {
    const { token } = await machine('web-01')
    const rows = await database.db.selectFrom('machines').selectAll().execute()
    expect(JSON.stringify([rows, await at.audited()])).not.toContain(token)
  })
})

describe('enrolments', () => {
  const enrolment = (most: number) =>
    at.enrolments.create({ name: 'image', tags: ['web'], most, expires_hours: 2 }, ROOT, ORIGIN)
  const enrol = (token: string, name: string) => at.enrolments.enrol({ token, name }, ORIGIN)

  test('give machines their tags, at most so many, until they end', async () => {
    await allow('jammy', 'tag', 'web')
    const { token, id } = await enrolment(2)
    const made = await enrol(token, 'web-01')
    expect(await reads(made.token)).toEqual(['jammy'])
    expect(await reads(token)).toBeNull()
    // A name that is taken uses nothing up.
    expect(await outcome(enrol(token, 'WEB-01'))).toBe('already_exists')
    expect((await at.enrolments.find(id)).used).toBe(1)
    await enrol(token, 'web-02')
    expect(await outcome(enrol(token, 'web-03'))).toBe('unauthorized')
    expect((await at.enrolments.find(id)).active).toBe(false)
  })

  test('end by revocation and by time, and what they made stays', async () => {
    const [first, second] = [await enrolment(5), await enrolment(5)]
    const made = await enrol(first.token, 'web-01')
    await at.enrolments.revoke(first.id, ROOT, ORIGIN)
    expect(await outcome(enrol(first.token, 'web-02'))).toBe('unauthorized')
    at.pass(2 * HOUR_MS + 1)
    expect(await outcome(enrol(second.token, 'web-02'))).toBe('unauthorized')
    expect(await outcome(enrol(made.token, 'web-02'))).toBe('unauthorized')
    expect(await reads(made.token)).toEqual([])
  })

  test('very many at once leave the database to others', async () => {
    const { token } = await enrolment(60)
    let enrolled = 0
    const all = Promise.all(Array.from({ length: 60 }, async (_, n) => (await enrol(token, `web-${n}`), enrolled++)))
    await database.db.selectFrom('distributions').select('codename').execute()
    expect(enrolled).toBeLessThan(10)
    await all
  })

  test('racing machines do not exceed the most', async () => {
    const { token } = await enrolment(3)
    const results = await Promise.all(Array.from({ length: 8 }, (_, n) => outcome(enrol(token, `web-${n}`))))
    expect(results.filter((one) => one === 'ok')).toHaveLength(3)
  })
})

describe('people', () => {
  test('read with their tokens, until the token, the account or the right ends', async () => {
    await allow('jammy', 'person', 'BEN')
    const first = await tokenOf('ben')
    expect(await reads(first.token)).toEqual(['jammy'])
    await at.tokens.revoke(ROOT, first.id, ORIGIN)
    expect(await reads(first.token)).toBeNull()
    const second = await tokenOf('ben')
    expect(await reads(second.token)).toEqual(['jammy'])
    await at.users.update(ROOT, 'ben', { active: false }, ORIGIN)
    expect(await reads(second.token)).toBeNull()
    await at.users.update(ROOT, 'ben', { active: true }, ORIGIN)
    expect(await reads(second.token)).toEqual(['jammy'])
    await at.users.remove(ROOT, 'ben', ORIGIN)
    expect(await reads(second.token)).toBeNull()
    expect(await at.readers.list()).toEqual([])
  })

  test.each<[string, Scopes, string[] | null]>([
    ['uploads only', { actions: ['upload'] }, null],
    ['reads', { actions: ['read'] }, ['jammy', 'noble']],
    ['one distribution', { distributions: ['noble'] }, ['noble']],
    ['another format', { formats: ['rpm'] }, null],
  ])('a token with the scope of %s', async (_, scopes, expected) => {
    await allow('jammy', 'person', 'ben')
    await allow('noble', 'person', 'ben')
    expect(await reads((await tokenOf('ben', scopes)).token)).toEqual(expected)
  })

  test('an admin has no right by the role', async () => {
    await at.users.create(ROOT, { username: 'ada', password: GOOD, role: 'admin' }, ORIGIN)
    await allow('jammy', 'person', 'ben')
    expect(await reads((await tokenOf('ada')).token)).toBeNull()
  })

  test('of a directory have the rights of their groups, also when these change', async () => {
    groups = ['CN=Web Team,OU=Groups,DC=example,DC=org', 'ops']
    await allow('jammy', 'group', 'web team')
    await allow('noble', 'group', 'OPS')
    await allow('npm/team', 'group', 'team')
    const { token, caller } = await tokenOf('anna')
    expect(await reads(token)).toEqual(['jammy', 'noble'])
    groups = ['ops']
    await at.sessions.refresh(caller)
    expect(await reads(token)).toEqual(['noble'])
    groups = []
    await at.membership.compareAll()
    expect(await reads(token)).toBeNull()
  })

  test('of a directory that does not confirm them lose their rights after the grace time', async () => {
    groups = ['ops']
    await allow('noble', 'group', 'ops')
    const { token } = await tokenOf('anna')
    expect(await reads(token)).toEqual(['noble'])
    at.pass(settings.ldap.grace_hours * HOUR_MS - 2000)
    expect(await reads(token)).toEqual(['noble'])
    at.pass(2001)
    // Without the service: the facts have the end of the token.
    await known.look()
    expect(known.byToken(digestsOf(`Bearer ${token}`))).toBeNull()
  })
})

describe('CI jobs', () => {
  const publish = (...all: (Scopes | undefined)[]) => {
    const publisher = { name: 'build', issuer: 'https://ci.example', audience: 'x', claims: { sub: 'repo:acme/x' } }
    publishers = all.map((scopes) => ({ ...publisher, role: 'reader', scopes }))
  }
  beforeEach(() => () => publish())

  /** As the exchange of an ID token makes it. */
  async function jobToken(scopes: Scopes | null, minutes = 15): Promise<string> {
    const token = `svc_${randomToken(32)}`
    await database.db
      .insertInto('api_tokens')
      .values({
        ...{ id: randomUUID(), name: 'build#0123abcd', role: 'reader', publisher: 'build', created_by_id: null },
        ...{ token_hash: tokenHash(token, scopes), token_hint: '', created_by: 'publisher build' },
        ...{ created_at: at.clock.now(), last_used: null, revoked_at: null },
        ...{ expires_at: new Date(at.now() + minutes * 60_000), scopes: scopes && JSON.stringify(scopes) },
      })
      .execute()
    return token
  }

  test.each<[string, Scopes | null, string[] | null]>([
    ['nothing', null, null],
    ['a place', { actions: ['read'], distributions: ['npm/team'] }, ['npm/team']],
    ['places, one of them unknown', { distributions: ['jammy', 'noble', 'gone'] }, ['jammy', 'noble']],
    ['a place, and may only upload', { actions: ['upload'], distributions: ['jammy'] }, null],
    ['a place of another format', { formats: ['rpm'], distributions: ['jammy'] }, null],
    ['an action only', { actions: ['read'] }, null],
  ])('whose scopes name %s read what they name', async (_, scopes, expected) => {
    publish(scopes ?? undefined)
    expect(await reads(await jobToken(scopes))).toEqual(expected)
  })

  test('read until their token ends, or is revoked, or their publisher is removed or narrowed', async () => {
    const scopes = { distributions: ['jammy', 'noble'] }
    publish(scopes)
    const token = await jobToken(scopes)
    expect(await reads(token)).toEqual(['jammy', 'noble'])
    publish({ distributions: ['jammy'] })
    expect(await reads(token)).toBeNull()
    publish(scopes)
    expect(await reads(token)).toEqual(['jammy', 'noble'])
    publish()
    expect(await reads(token)).toBeNull()
    publish(scopes)
    expect(await reads(token)).toEqual(['jammy', 'noble'])
    await database.db.updateTable('api_tokens').set({ revoked_at: at.clock.now() }).execute()
    expect(await reads(token)).toBeNull()
    const short = await jobToken(scopes, 1)
    expect(await reads(short)).toEqual(['jammy', 'noble'])
    at.pass(60_000)
    // Without the service: the facts have the end of the token.
    expect(known.byToken(digestsOf(`Bearer ${short}`))).toBeNull()
  })
})

describe('rights', () => {
  test.each<[string, ReaderKind, string, string]>([
    ['nowhere', 'tag', 'web', 'not_found'],
    ['jammy', 'person', 'nobody', 'not_found'],
    ['jammy', 'machine', 'nothing', 'not_found'],
    ['jammy', 'tag', 'web', 'already_exists'],
  ])('to %s for the %s %s: %s', async (place, kind, name, code) => {
    await allow('jammy', 'tag', 'web')
    expect(await outcome(allow(place, kind, name))).toBe(code)
  })

  test('to a place that became public do not disturb those to others', async () => {
    await allow('jammy', 'person', 'ben')
    await allow('noble', 'person', 'ben')
    const { token } = await tokenOf('ben', { actions: ['read'] })
    await at.readers.setPrivate('jammy', false, ROOT, ORIGIN)
    expect(await reads(token)).toEqual(['noble'])
  })

  test('and what becomes private or public are audited', async () => {
    const right = await allow('jammy', 'tag', 'web')
    await at.readers.remove(right.id, ROOT, ORIGIN)
    await at.readers.setPrivate('jammy', false, ROOT, ORIGIN)
    await at.readers.setPrivate('jammy', false, ROOT, ORIGIN)
    expect((await at.audited()).map(({ action, detail }) => `${action} ${detail}`)).toEqual([
      'READER_ADD tag web may read jammy',
      'READER_REMOVE tag web may no longer read jammy',
      'DISTRIBUTION_ACCESS jammy is public',
    ])
    await known.look()
    expect([known.isPrivate('jammy'), known.isPrivate('npm/team')]).toEqual([false, true])
  })
})

describe('asked for one request, as the API does for repositories', () => {
  const rights = () => createPlaceRights(database.db)

  test('machines have those of their name and tags, until they are revoked', async () => {
    const named = await machine('web-01')
    const tagged = await machine('web-02', ['web'])
    expect(await rights().isRestricted('npm/team')).toBe(false)
    await allow('npm/team', 'machine', 'web-01')
    await allow('npm/team', 'tag', 'web')
    expect(await rights().isRestricted('npm/team')).toBe(true)
    const may = (token: string, ...places: string[]) => rights().ofMachine(`Bearer ${token}`, places)
    expect(await may(named.token, 'npm/team')).toBe(true)
    expect(await may(tagged.token, 'jammy', 'npm/team')).toBe(true)
    expect(await may(tagged.token, 'jammy')).toBe(false)
    expect(await rights().ofMachine(undefined, ['npm/team'])).toBe(false)
    await at.machines.revoke(named.id, ROOT, ORIGIN)
    expect(await may(named.token, 'npm/team')).toBe(false)
  })

  test('people have their own and those of their groups', async () => {
    groups = ['cn=team,dc=example']
    const { ownerId } = await at.signIn('eve')
    expect(await rights().ofPerson(ownerId, 'npm/team')).toBe(false)
    await allow('npm/team', 'group', 'team')
    expect(await rights().ofPerson(ownerId, 'npm/team')).toBe(true)
    const ben = await at.signIn('ben')
    expect(await rights().ofPerson(ben.ownerId, 'npm/team')).toBe(false)
    await allow('npm/team', 'person', 'ben')
    expect(await rights().ofPerson(ben.ownerId, 'npm/team')).toBe(true)
  })
})

describe('the facts', () => {
  test('that cannot be written stop a start only if a private place could be taken for a public one', async () => {
    // A file where their directory belongs refuses every write, whoever runs the test.
    const directory = join(at.directory, 'none')
    await writeFile(directory, '')
    const errors: unknown[] = []
    const onError = (error: unknown) => errors.push(error)
    const privateKey = newFactsKey()
    const writer = createFactsWriter({
      db: database.db,
      clock: at.clock,
      settings: () => settings,
      directory,
      privateKey,
      onError,
    })
    await expect(writer.begin()).rejects.toMatchObject({ code: 'ENOTDIR' })
    await database.db.updateTable('distributions').set({ private: false }).execute()
    await writer.begin()
    expect(errors).toMatchObject([{ code: 'ENOTDIR' }])
  })

  test('are written anew for a change only, and their stamp every ten seconds', async () => {
    const names = async () => (await readdir(at.directory)).filter((name) => name.startsWith('facts-'))
    await at.factsWriter.write()
    await at.factsWriter.writeDue()
    expect(await names()).toHaveLength(1)
    await machine('web-01')
    await at.factsWriter.writeDue()
    const [, ...others] = await names()
    expect(others).toHaveLength(1)
    // A listener may still read the list before; it goes when it is old.
    for (const name of await names()) await utimes(join(at.directory, name), 0, 0)
    await machine('web-02')
    await at.factsWriter.writeDue()
    expect(await names()).toHaveLength(1)
  })

  test('have no token and no way back to one', async () => {
    const { token } = await machine('web-01')
    await at.factsWriter.write()
    for (const name of (await readdir(at.directory)).filter((one) => /^(facts|stamp)/.test(one)))
      expect(await readFile(join(at.directory, name), 'utf8')).not.toContain(token)
  })
})
