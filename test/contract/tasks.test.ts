// Lists, streams and the cancellation of tasks over HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startGate, type Gate } from './harness.ts'
import { eventsOf, type Reply } from './http.ts'
import { lastAudited } from './packages/seen.ts'

interface Task {
  id: number
  kind: string
  state: string
  result: Record<string, unknown> | null
  lines_total: number
  lines: { seq: number; message: string }[]
}

/** A task of a kind that this build does not know: it stays queued. */
const UNKNOWN = {
  kind: 'from_the_future',
  key: 'jammy',
  state: 'queued',
  created_by: 'ann',
  created_at: new Date(),
} as const

let gate: Gate
let taskId: number
beforeAll(async () => {
  gate = await startGate({
    async prepare(db) {
      const row = { ...UNKNOWN, arguments: '{"n":1}' }
      await db.insertInto('tasks').values(row).execute()
    },
  })
  await gate.upload(await buildDeb({ name: 'indexed' }), { distribution: 'jammy' })
  const { status, body } = await gate.call('POST', '/artifacts/admin/sync-index')
  expect([status, body]).toEqual([
    200,
    { status: 'ok', packages_indexed: 1, orphans: 0, missing_files: 0, task_id: expect.any(Number) as number },
  ])
  taskId = body['task_id'] as number
})
afterAll(() => gate.close())

const list = async (query = '') => (await gate.call<{ items: Task[]; total: number }>('GET', `/tasks/${query}`)).body
const auditor = () => gate.people.auditor.session

describe('the list of tasks', () => {
  test('has the newest first', async () => {
    const { items, total } = await list()
    expect(items).toHaveLength(total)
    // The start of the service queued an update of the advisories.
    const others = items.filter(({ kind }) => kind !== 'advisories')
    expect(others.map(({ kind, state }) => `${kind} ${state}`)).toEqual(['sync_index done', 'from_the_future queued'])
  })

  test.each([
    ['?kind=sync_index', ['sync_index']],
    ['?state=queued&kind=from_the_future', ['from_the_future']],
    ['?state=queued&kind=sync_index', []],
    ['?kind=sync_index&per_page=1&page=2', []],
    ['?kind=none', []],
  ])('%s is narrowed', async (query, kinds) => {
    expect((await list(query)).items.map(({ kind }) => kind)).toEqual(kinds)
  })
})

test('a task shows its result and its last lines', async () => {
  const { body } = await gate.call<Task>('GET', `/tasks/${taskId}`, { as: auditor() })
  expect(body).toMatchObject({
    ...{ kind: 'sync_index', state: 'done', attempts: 1, created_by: 'admin-person', error: null, lines_total: 1 },
    result: { packages_indexed: 1, orphans: 0, missing_files: 0 },
    lines: [{ seq: 1, level: 'info', message: '1 manifests to read', data: null }],
  })
})

describe('the stream of a task', () => {
  const stream = (headers: Record<string, string> = {}): Promise<Reply> =>
    gate.call('GET', `/tasks/${taskId}/stream`, { as: auditor(), headers })

  test('sends every line with its number, then the end with the task', async () => {
    const { headers, text } = await stream()
    expect(headers).toMatchObject({ 'content-type': expect.stringMatching(/^text\/event-stream/) as string })
    const events = eventsOf(text)
    expect(events.map(({ event }) => event)).toEqual(['line', 'end'])
    expect(text).toContain('id: 1\nevent: line\n')
    expect(JSON.parse(events[1]!.data)).toMatchObject({ id: taskId, state: 'done', result: { packages_indexed: 1 } })
  })

  test.each([
    ['1', ['end']],
    ['0', ['line', 'end']],
    ['nonsense', ['line', 'end']],
    ['99999999999999999999', ['line', 'end']],
    ['-1', ['line', 'end']],
  ])('continues after Last-Event-ID %s', async (id, events) => {
    expect(eventsOf((await stream({ 'last-event-id': id })).text).map(({ event }) => event)).toEqual(events)
  })

  test('is open at most five times for one principal', async () => {
    const [waiting] = (await list('?kind=from_the_future')).items
    const closing = new AbortController()
    const open = async () => {
      const response = await fetch(`http://127.0.0.1:${gate.port}/api/v1/tasks/${waiting!.id}/stream`, {
        headers: { authorization: `Bearer ${auditor()}` },
        signal: closing.signal,
      })
      return response.status
    }
    for (let n = 0; n < 5; n++) expect(await open()).toBe(200)
    const sixth = await gate.call('GET', `/tasks/${waiting!.id}/stream`, { as: auditor() })
    expect(sixth).toMatchObject({ status: 429, body: { code: 'rate_limited', limit: 5 } })
    // Other callers have separate limits, and closed streams do not count.
    expect((await stream()).status).toBe(429)
    expect((await gate.call('GET', `/tasks/${taskId}/stream`)).status).toBe(200)
    closing.abort()
    await expect.poll(async () => (await stream()).status).toBe(200)
  })

  test('of a task that does not exist is 404', async () => {
    expect((await gate.call('GET', '/tasks/999999/stream')).status).toBe(404)
  })
})

test('a queued task is cancelled once, and the cancellation is audited', async () => {
  const [task] = (await list('?kind=from_the_future')).items
  const cancel = () => gate.call<Task>('POST', `/tasks/${task!.id}/cancel`, { as: gate.people.maintainer.session })
  const { status, body } = await cancel()
  expect([status, body.state]).toEqual([200, 'cancelled'])
  expect(await lastAudited(gate, { action: 'TASK_CANCEL' })).toMatchObject({
    ...{ result: 'SUCCESS', user: 'maintainer-person', outcome: 'cancelled' },
    detail: `task ${task!.id}: from_the_future jammy`,
  })
  expect(await cancel()).toMatchObject({ status: 409, body: { code: 'task_ended', state: 'cancelled' } })
})
