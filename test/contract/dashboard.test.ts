// The dashboard, its stream and the log over HTTP: what each role sees of them.
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getDashboardEvents } from '../../src/api/dashboard/dashboard.contract.ts'
import { getLogsStream } from '../../src/api/logs/logs.contract.ts'
import { openEventStream } from '../event-stream.ts'
import { buildDeb } from '../samples/deb.ts'
import { undocumentedEvents } from './document.ts'
import { API, startGate, type Gate } from './harness.ts'

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
    const { total, total_size_bytes: size } = stats.packages
    expect(history.at(-1)).toMatchObject({
      ...{ imports: 2, failures: 1, decisions: 0, pool_packages: total, pool_bytes: size },
    })
    expect(history[0]).toMatchObject({ pool_packages: null, pool_bytes: null })
  })
})

const open = (path: string, as: string, headers: Record<string, string> = {}) =>
  openEventStream(`http://127.0.0.1:${gate.port}${API}${path}`, as, headers)

describe('the log', () => {
  const line = (n: number, more: object = {}) =>
    `${JSON.stringify({ level: 'info', time: new Date(Date.UTC(2026, 2, 1, 12, 0, n)).toISOString(), name: 'service', request_id: `r${n}`, msg: `m${n}`, ...more })}\n`
  const append = (text: string) => appendFile(join(gate.reposDir, 'logs', 'service-a.log'), text)

  test('is read newest first, with filters', async () => {
    await append([0, 1, 2].map((n) => line(n, { level: n === 1 ? 'error' : 'info', path: `/p${n}` })).join(''))
    const as = gate.people.auditor.session
    expect(await get('/logs?limit=2', as)).toEqual({
      items: [2, 1].map((n) => ({
        ...{ timestamp: `2026-03-01T12:00:0${n}.000+00:00`, level: n === 1 ? 'error' : 'info', name: 'service' },
        ...{ message: `m${n}`, request_id: `r${n}`, data: { path: `/p${n}` } },
      })),
      ...{ total: 2, limit: 2, complete: false },
    })
    expect(await get('/logs?level=warn&q=P1&since=2026-03-01', as)).toMatchObject({ total: 1, complete: true })
    const { status } = await gate.call('GET', '/logs?since=yesterday', { as })
    expect(status).toBe(400)
  })

  test('is followed, and continued after Last-Event-ID', async () => {
    const as = gate.people.auditor.session
    const stream = await open('/logs/stream?level=info&q=p', as)
    await expect
      .poll(async () => {
        // The first lines may be written before the stream begins to listen.
        if (stream.events('log').length === 0) await append(line(10, { path: '/p' }))
        return stream.events('log').length
      })
      .toBeGreaterThan(0)
    stream.leave()
    const id = /id: (\S+)\nevent: log/.exec(stream.text())![1]!
    await append(line(11, { path: '/p' }) + line(12) + line(13, { path: '/p' }))
    const again = await open('/logs/stream?level=info&q=/p', as, { 'last-event-id': id })
    await expect
      .poll(() =>
        again
          .events('log')
          .map(({ message }) => message)
          .slice(-2),
      )
      .toEqual(['m11', 'm13'])
    expect(undocumentedEvents(getLogsStream, again.text())).toBeNull()
    again.leave()
  })
})

describe('the stream of the dashboard', () => {
  test('begins with a snapshot, shows an upload, and continues after Last-Event-ID', async () => {
    const stream = await open('/dashboard/events', gate.people.reader.session)
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(stream.headers.get('x-accel-buffering')).toBe('no')
    await expect.poll(() => stream.events('snapshot')).toMatchObject([{ package_count: 2 }])
    expect(stream.text()).toContain('retry: 3000')
    await gate.upload(await buildDeb({ name: 'third' }), { distribution: 'jammy' })
    const uploaded = { action: 'published', package: 'third', distribution: 'jammy', status: 'published' }
    await expect.poll(() => stream.events('package')).toMatchObject([uploaded])
    stream.leave()

    const [, id] = /id: (\d+)\nevent: package/.exec(stream.text()) ?? []
    const before = String(Number(id) - 1)
    const again = await open('/dashboard/events', gate.people.reader.session, { 'last-event-id': before })
    await expect.poll(() => again.events('package')).toMatchObject([uploaded])
    again.leave()
    const nothing = await open('/dashboard/events', gate.people.reader.session, { 'last-event-id': id! })
    await expect.poll(() => nothing.events('health')).toHaveLength(1)
    expect(nothing.events('package')).toEqual([])
    nothing.leave()
  })

  test('names people and jobs for auditors only', async () => {
    const [reader, auditor] = [
      await open('/dashboard/events', gate.people.reader.session),
      await open('/dashboard/events', gate.people.auditor.session),
    ]
    await expect.poll(() => [reader.events('snapshot').length, auditor.events('snapshot').length]).toEqual([1, 1])
    await gate.call('POST', '/artifacts/admin/sync-index')
    await expect.poll(() => auditor.events('job').at(-1)).toMatchObject({ kind: 'sync_index', status: 'done' })
    await gate.upload(await buildDeb({ name: 'fourth' }), { distribution: 'jammy' })
    await expect.poll(() => reader.events('package').length).toBeGreaterThan(0)
    expect(reader.events('job')).toEqual([])
    for (const stream of [reader, auditor]) expect(undocumentedEvents(getDashboardEvents, stream.text())).toBeNull()
    for (const stream of [reader, auditor]) stream.leave()
  })

  test('ends when its token is revoked', async () => {
    const { body } = await gate.call<{ token_id: string; token: string }>('POST', '/auth/api-tokens', {
      body: { name: 'watcher', role: 'reader' },
    })
    const stream = await open('/dashboard/events', body.token)
    await expect.poll(() => stream.events('snapshot')).toHaveLength(1)
    expect((await gate.call('DELETE', `/auth/api-tokens/${body.token_id}`)).status).toBe(200)
    await expect.poll(() => stream.ended()).toBe(true)
  })

  test('is open at most five times for one principal', async () => {
    const as = gate.people.uploader.token
    const streams = []
    for (let n = 0; n < 5; n++) streams.push(await open('/dashboard/events', as))
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect((await open('/dashboard/events', as)).status).toBe(429)
    for (const stream of streams) stream.leave()
  })

  test('ends when the service stops, which does not wait for it', async () => {
    const stream = await open('/dashboard/events', gate.people.admin.session)
    await expect.poll(() => stream.events('snapshot')).toHaveLength(1)
    await gate.stop()
    await expect.poll(() => stream.ended()).toBe(true)
    expect(gate.errors).toEqual([])
  })
})
