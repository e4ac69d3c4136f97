// Answers that are kept for an `Idempotency-Key`, on a real database, by two processes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createSecretBox } from '../kernel/crypto.ts'
import type { Database } from './db.ts'
import { createKeptAnswers, type Begun, type KeptAnswers, type Running } from './kept-answers.ts'

const HOUR = 3_600_000
const ANSWER = { status: 201, headers: { 'x-package-status': 'published' }, body: { token: 'svc_secret' } }

let database: Database
let one: KeptAnswers
let other: KeptAnswers
let ms: number
let dead: string[]
beforeAll(async () => {
  database = await createTestDatabase()
  ;[one, other] = [process('one'), process('other')]
})
afterAll(() => database.close())
beforeEach(async () => {
  ms = Date.parse('2026-03-01T12:00:00Z')
  dead = []
  await database.db.deleteFrom('kept_answers').execute()
})

const process = (instanceId: string, passphrase = 'a passphrase') =>
  createKeptAnswers({
    ...{ db: database.db, instanceId, secretBox: createSecretBox(passphrase) },
    clock: { now: () => new Date(ms) },
    isDead: async (id) => dead.includes(id),
  })

function running(begun: Begun): Running {
  if (begun.state !== 'new') throw new Error(`it is ${begun.state}`)
  return begun.run
}

async function answered(): Promise<void> {
  await running(await one.begin('id', 'user:1')).keep('digest', ANSWER)
}

test('a request that runs is known to both, and its answer too', async () => {
  const run = running(await one.begin('id', 'user:1'))
  for (const process of [one, other]) expect(await process.begin('id', 'user:1')).toEqual({ state: 'running' })
  await run.keep('digest', ANSWER)
  for (const process of [one, other])
    expect(await process.begin('id', 'user:1')).toEqual({ state: 'answered', request: 'digest', answer: ANSWER })
})

test('of many at once one runs', async () => {
  const begun = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other).begin('id', 'user:1')))
  expect(begun.filter(({ state }) => state === 'new')).toHaveLength(1)
  for (const each of begun) if (each.state === 'new') await each.run.forget()
})

describe('a request can be sent again', () => {
  test.each([
    ['once it was refused', async (run: Running) => run.forget()],
    ['when its process is known to be dead', async () => void dead.push('one')],
    ['when its process said nothing for a minute', async () => void (ms += 60_001)],
  ])('%s', async (_, happens) => {
    const run = running(await one.begin('id', 'user:1'))
    await happens(run)
    const second = running(await other.begin('id', 'user:1'))
    // The first process was only slow: it can neither keep its answer nor take away the other one.
    await run.keep('late', { ...ANSWER, body: 'late' })
    await run.forget()
    expect(await one.begin('id', 'user:1')).toEqual({ state: 'running' })
    await second.forget()
  })

  test('a day after its answer', async () => {
    await answered()
    ms += 24 * HOUR - 1
    expect(await one.begin('id', 'user:1')).toMatchObject({ state: 'answered' })
    ms += 2
    await running(await one.begin('id', 'user:1')).forget()
  })

  test('when the answer was sealed with a key that was replaced', async () => {
    await answered()
    await running(await process('one', 'another passphrase').begin('id', 'user:1')).forget()
  })
})

test('neither an answer nor the digest of its request is stored in plain text: a token, a password that can be guessed', async () => {
  await answered()
  const stored = JSON.stringify(await database.db.selectFrom('kept_answers').selectAll().execute())
  for (const text of ['secret', 'digest']) expect(stored).not.toContain(text)
})

test('an answer of a build that stored the digest beside it is still given', async () => {
  const row = { id: 'id', principal: 'user:1', holder: 'one/x', touched_at: new Date(ms), request: 'digest' }
  const answer = createSecretBox('a passphrase').seal(JSON.stringify(ANSWER))
  await database.db
    .insertInto('kept_answers')
    .values({ ...row, answer })
    .execute()
  expect(await other.begin('id', 'user:1')).toEqual({ state: 'answered', request: 'digest', answer: ANSWER })
})

test('cleaning deletes what is older than a day, and of one caller all but the newest 10,000', async () => {
  const row = { holder: 'one/x', request: 'd', answer: 'sealed' }
  const rows = Array.from({ length: 10_002 }, (_, n) => ({
    ...row,
    ...{ id: `many ${n}`, principal: 'token:busy', touched_at: new Date(ms - n) },
  }))
  for (let at = 0; at < rows.length; at += 2_000)
    await database.db
      .insertInto('kept_answers')
      .values(rows.slice(at, at + 2_000))
      .execute()
  const old = { ...row, principal: 'user:1', id: 'old', touched_at: new Date(ms - 24 * HOUR - 1) }
  const young = { ...old, id: 'young', touched_at: new Date(ms - 24 * HOUR + 1) }
  const unanswered = { ...old, id: 'unanswered', touched_at: new Date(ms), request: null, answer: null }
  await database.db.insertInto('kept_answers').values([old, young, unanswered]).execute()
  await one.clean()
  const left = (await database.db.selectFrom('kept_answers').select('id').execute()).map(({ id }) => id)
  expect(left.filter((id) => !id.startsWith('many')).sort()).toEqual(['unanswered', 'young'])
  expect(left).toHaveLength(10_002)
  expect(left).not.toContain('many 10000')
  expect(left).not.toContain('many 10001')
})
