// What somebody brought in: by name and by API token, with the state and the reason.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { cveScanner } from './console/samples.ts'
import { startGate, type Gate } from './harness.ts'

let gate: Gate
beforeAll(async () => {
  gate = await startGate({ overrides: { cveScanner } })
  await gate.call('PATCH', '/settings/', { body: { cve_policy: { critical: 'block', high: 'review' } } })
})
afterAll(() => gate?.close())

interface Own {
  items: {
    name: string
    status: string
    problems: { step: string }[]
    held_reason: string | null
    decision: { action: string; justification: string } | null
  }[]
  total: number
}
const own = async (as: string, query = '') =>
  (await gate.call<Own & Record<string, unknown>>('GET', `/upload/mine${query}`, { as })).body
const names = async (as: string, query = '') => (await own(as, query)).items.map(({ name }) => name)
const bring = async (name: string, as: string, version = '1.0-1') =>
  gate.upload(await buildDeb({ name, version }), { distribution: 'jammy' }, { as })

test('it has what the person and their tokens brought, the newest first, and nothing of others', async () => {
  const as = gate.people.uploader.session
  const made = await gate.call<{ token: string }>('POST', '/auth/me/tokens', { as, body: { name: 'of-uploader' } })
  await bring('by-hand', as)
  await bring('by-token', made.body.token)
  await bring('by-another', gate.people.maintainer.session)
  expect(await names(as)).toEqual(['by-token', 'by-hand'])
  expect(await names(made.body.token)).toEqual(['by-token', 'by-hand'])
  expect(await names(as, '?per_page=1&page=2')).toEqual(['by-hand'])
  expect(await names(gate.people.maintainer.session)).toEqual(['by-another'])
})

test('it says why clients do not get something', async () => {
  const as = gate.people.uploader.session
  await bring('later', as, '2.0-1')
  await bring('lib-held', as)
  const waits = (await own(as, '?status=pending_review')).items
  expect(waits).toMatchObject([{ name: 'later', held_reason: 'cve_review', decision: null }])
  const blocked = (await own(as, '?status=quarantined')).items
  expect(blocked.map(({ name, problems }) => [name, problems.map(({ step }) => step)])).toEqual([['lib-held', ['cve']]])
  await gate.call('POST', '/security/packages/later/2.0-1/decide', {
    body: { decision: 'reject', justification: 'use the other library' },
  })
  expect((await own(as, '?status=rejected')).items).toMatchObject([
    { name: 'later', decision: { action: 'reject', justification: 'use the other library' } },
  ])
  expect((await own(as, '?distribution=noble')).total).toBe(0)
})
