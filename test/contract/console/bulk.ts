// One decision about several packages: the preview of a dry run, failures, and what is published afterwards.
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'
import { bringIn } from './samples.ts'

interface Bulk {
  status: string
  decided: number
  failed: number
  publishes: string[]
  items: { package: string; result: string; code: string | null; records: object[]; decisions: object[] }[]
}

export function bulkContract(gate: Gate): void {
  const decide = async (names: (string | object)[], more: object = {}) => {
    const items = names.map((name) => (typeof name === 'string' ? { package: name, version: '1.0-1' } : name))
    const body = { items, decision: 'approve', justification: 'seen together', ...more }
    const reply = await gate.call<Bulk>('POST', '/security/decisions/bulk', { body })
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }
  const outcome = ({ items }: Bulk) => items.map((item) => [item.package, item.code ?? item.result])
  const status = async (name: string) =>
    (await gate.call<{ manifest_status: string }>('GET', `/artifacts/${name}`)).body.manifest_status
  const revisions = async (codename: string) =>
    (await gate.call<{ items: { revision: number }[] }>('GET', `/distributions/${codename}/publications`)).body.items
  const offered = async (codename: string) =>
    (await gate.call<{ packages: { name: string }[] }>('GET', `/distributions/${codename}/packages`)).body.packages.map(
      ({ name }) => name,
    )

  test('a dry run tells of each item what would happen, and changes nothing', async () => {
    const set = (forbid_self_approval: boolean) =>
      gate.call('PATCH', '/settings/', { body: { security: { forbid_self_approval } } })
    const { maintainer } = gate.people
    await bringIn(gate, { name: 'bulk-a' }, 'jammy', gate.people.uploader.session)
    await bringIn(gate, { name: 'bulk-own' }, 'jammy', gate.people.admin.session)
    await bringIn(gate, { name: 'bulk-two' }, 'jammy', maintainer.session)
    await bringIn(gate, { name: 'bulk-two', files: { 'usr/other': 'other bytes' } }, 'noble', maintainer.session)
    await set(true)
    const names = ['bulk-a', 'bulk-own', 'bulk-two', 'bulk-a', 'user-a', 'bulk-none']
    const dry = await decide(names, { dry_run: true })
    await set(false)
    expect(dry).toMatchObject({ status: 'dry_run', decided: 1, failed: 5, publishes: ['jammy'] })
    expect(outcome(dry)).toEqual([
      ['bulk-a', 'decided'],
      ['bulk-own', 'self_approval'],
      ['bulk-two', 'ambiguous'],
      ['bulk-a', 'not_under_review'],
      ['user-a', 'not_under_review'],
      ['bulk-none', 'not_found'],
    ])
    expect(dry.items[0]).toMatchObject({
      records: [{ distribution: 'jammy', arch: 'amd64', status: 'published', effect: 'offers' }],
      decisions: [],
    })
    expect(dry.items[2]).toMatchObject({ candidates: [{ distribution: 'jammy' }, { distribution: 'noble' }] })
    expect(await status('bulk-a')).toBe('pending_review')
    const outcomeWith = async (cve_ids: string[]) => outcome(await decide(['bulk-a'], { dry_run: true, cve_ids }))
    expect(await outcomeWith(['CVE-2026-1003'])).toEqual([['bulk-a', 'decided']])
    expect(await outcomeWith([])).toEqual([['bulk-a', 'validation_error']])
    expect(await outcomeWith(['CVE-2026-9999'])).toEqual([['bulk-a', 'validation_error']])
  })

  test('packages of one distribution are published together, and what fails leaves the others as they are', async () => {
    const before = await revisions('jammy')
    const done = await decide([
      'bulk-a',
      'bulk-own',
      'bulk-none',
      { package: 'bulk-two', version: '1.0-1', distribution: 'noble' },
    ])
    expect(done).toMatchObject({ status: 'partial', decided: 3, failed: 1, publishes: ['jammy', 'noble'] })
    expect(outcome(done)[2]).toEqual(['bulk-none', 'not_found'])
    expect(done.items[0]?.decisions).toMatchObject([{ action: 'accept_risk', justification: 'seen together' }])
    const after = await revisions('jammy')
    expect(after).toHaveLength(before.length + 1)
    expect(after[0]).toMatchObject({ live: true, added: 2, causes: ['approve'] })
    expect(await offered('jammy')).toEqual(expect.arrayContaining(['bulk-a', 'bulk-own']))
    expect(await offered('jammy')).not.toContain('bulk-two')
    expect(await offered('noble')).toContain('bulk-two')
  })

  test('approvals that cannot be published are taken back, those of other distributions stay', async () => {
    await bringIn(gate, { name: 'bulk-stuck' }, 'jammy')
    await bringIn(gate, { name: 'bulk-fine' }, 'noble')
    const generations = join(gate.reposDir, '.generations', 'deb', 'jammy')
    await rename(generations, `${generations}.away`)
    await writeFile(generations, '')
    const errors = gate.errors.length
    const done = await decide(['bulk-stuck', 'bulk-fine'])
    await rm(generations)
    await rename(`${generations}.away`, generations)
    expect(outcome(done)).toEqual([
      ['bulk-stuck', 'publication_failed'],
      ['bulk-fine', 'decided'],
    ])
    expect(await status('bulk-stuck')).toBe('pending_review')
    expect(await offered('noble')).toContain('bulk-fine')
    gate.errors.splice(errors)
    expect(await decide(['bulk-stuck'])).toMatchObject({ status: 'ok', decided: 1 })
    expect(await offered('jammy')).toContain('bulk-stuck')
  })

  test('rejections need no publication where nothing was offered', async () => {
    await bringIn(gate, { name: 'bulk-bad' })
    const before = await revisions('jammy')
    const done = await decide(['bulk-bad'], { decision: 'reject' })
    expect(done).toMatchObject({ status: 'ok', publishes: [] })
    expect(done.items[0]?.records).toMatchObject([{ status: 'rejected', effect: 'none' }])
    expect(await revisions('jammy')).toHaveLength(before.length)
  })

  test('what was replaced after somebody looked at it is not decided, alone or with others', async () => {
    const digest = async () =>
      (await gate.call<{ sha256: string }>('GET', '/security/packages/bulk-swap/1.0-1/evidence')).body.sha256
    await bringIn(gate, { name: 'bulk-swap' })
    await bringIn(gate, { name: 'bulk-kept' })
    const seen = await digest()
    await gate.call('DELETE', '/artifacts/bulk-swap/1.0-1')
    await bringIn(gate, { name: 'bulk-swap', files: { 'usr/bin/other': 'other bytes' } })
    const now = await digest()
    expect(now).not.toBe(seen)
    const one = (sha256: string | null) =>
      gate.call('POST', '/security/packages/bulk-swap/1.0-1/decide', {
        body: { decision: 'approve', justification: 'seen', sha256 },
      })
    const refused = await one(seen)
    expect([refused.status, refused.body]).toMatchObject([409, { code: 'bytes_changed', sha256: now }])
    expect((await one('no digest')).status).toBe(400)
    const item = { package: 'bulk-swap', version: '1.0-1' }
    expect(outcome(await decide([{ ...item, sha256: seen }], { dry_run: true }))).toEqual([
      ['bulk-swap', 'bytes_changed'],
    ])
    const done = await decide([{ ...item, sha256: seen }, 'bulk-kept'])
    expect(outcome(done)).toEqual([
      ['bulk-swap', 'bytes_changed'],
      ['bulk-kept', 'decided'],
    ])
    expect(await status('bulk-swap')).toBe('pending_review')
    const queue = await gate.call<{ items: { name: string; sha256: string }[] }>(
      'GET',
      '/security/review-queue?q=bulk-swap',
    )
    expect(queue.body.items).toMatchObject([{ name: 'bulk-swap', sha256: now }])
    // Digests are compared without regard to case; without a digest the decision is about the current file.
    expect((await one(now.toUpperCase())).status).toBe(200)
    expect(await status('bulk-swap')).toBe('published')
  })

  test.each([
    ['no items', []],
    ['201 items', Array.from({ length: 201 }, (_, i) => ({ package: `p${i}`, version: '1' }))],
  ])('%s are refused', async (_, items) => {
    const body = { items, decision: 'approve', justification: 'x' }
    const { status: code, body: answer } = await gate.call('POST', '/security/decisions/bulk', { body })
    expect([code, answer['code']]).toEqual([400, 'validation_error'])
  })

  test('a token that is limited to some packages may decide about these only', async () => {
    const scopes = { actions: ['review'], distributions: ['jammy'] }
    const token = (
      await gate.call('POST', '/auth/api-tokens', { body: { name: 'bulk-jammy', role: 'maintainer', scopes } })
    ).body['token'] as string
    const body = (items: object[]) => ({ items, decision: 'approve', justification: 'x', dry_run: true })
    const ask = (items: object[]) => gate.call('POST', '/security/decisions/bulk', { as: token, body: body(items) })
    const one = { package: 'bulk-a', version: '1.0-1' }
    expect((await ask([{ ...one, distribution: 'jammy' }])).status).toBe(200)
    expect((await ask([{ ...one, distribution: 'jammy' }, one])).status).toBe(403)
    expect((await ask([{ ...one, distribution: 'noble' }])).status).toBe(403)
  })
}
