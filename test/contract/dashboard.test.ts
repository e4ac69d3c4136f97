// The dashboard over HTTP: what each role sees of it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startGate, type Gate } from './harness.ts'

interface Summary {
  package_count: number
  recent_activity: {
    action: string
    package: string | null
    user: string | null
    ip: string | null
    detail: string | null
  }[]
}
interface Stats {
  packages: { total: number; total_size_bytes: number; deps_missing_count: number; imports_today: number }
  activity: { imports: number; failures: number }[]
  recent_imports: { package: string; imported_by: string | null }[]
  alerts: { type: string; package: string }[]
  security_posture: { total: number }
}

let gate: Gate
beforeAll(async () => {
  gate = await startGate()
  const depends = 'libnowhere'
  await gate.upload(await buildDeb({ name: 'first', fields: { Depends: depends } }), { distribution: 'jammy' })
  await gate.upload(await buildDeb({ name: 'second' }), { distribution: 'jammy' })
  const again = await gate.upload(await buildDeb({ name: 'second' }), { distribution: 'nowhere' })
  expect(again.status).toBeGreaterThanOrEqual(400)
})
afterAll(() => gate.close())

const get = async <T>(path: string, as = gate.people.admin.session) => (await gate.call<T>('GET', path, { as })).body

describe('the dashboard', () => {
  test('shows auditors every kind of entry, with users', async () => {
    const { package_count: count, recent_activity: recent } = await get<Summary>('/dashboard/summary')
    expect(count).toBe(2)
    expect(recent.length).toBeLessThanOrEqual(20)
    expect(recent[0]).toMatchObject({ action: 'UPLOAD', user: 'admin-person', ip: '127.0.0.1' })
    expect(recent.map(({ action }) => action)).toContain('TOKEN_CREATE')
  })

  test.each(['reader', 'uploader'] as const)('shows a %s packages only, without users', async (role) => {
    const { recent_activity: recent } = await get<Summary>('/dashboard/summary', gate.people[role].session)
    expect(recent).toMatchObject([
      { action: 'UPLOAD', user: null, ip: null, detail: null },
      { action: 'UPLOAD', package: 'second', user: null, ip: null },
      { action: 'UPLOAD', package: 'first', user: null, ip: null },
    ])
    const { recent_imports: imports } = await get<Stats>('/dashboard/stats', gate.people[role].token)
    expect(imports).toMatchObject([
      { package: 'second', imported_by: null },
      { package: 'first', imported_by: null },
    ])
  })

  test('counts what was uploaded immediately before', async () => {
    const stats = await get<Stats>('/dashboard/stats')
    expect(stats.packages).toMatchObject({ total: 2, deps_missing_count: 1, imports_today: 2 })
    expect(stats.packages.total_size_bytes).toBeGreaterThan(0)
    expect(stats.activity).toHaveLength(7)
    expect(stats.activity.at(-1)).toMatchObject({ imports: 2, failures: 1 })
    expect(stats.alerts).toMatchObject([{ type: 'deps_missing', package: 'first' }])
    expect(stats.recent_imports[0]).toMatchObject({ package: 'second', imported_by: 'admin-person' })
    expect(stats.security_posture.total).toBe(2)
    const { history, days } = await get<{ history: object[]; days: number }>('/dashboard/history?days=365')
    expect([history.length, days]).toEqual([365, 365])
    expect(history.at(-1)).toMatchObject({ imports: 2, failures: 1, decisions: 0 })
  })
})
