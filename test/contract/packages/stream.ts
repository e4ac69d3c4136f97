// POST /upload/stream: an upload that reports its steps.
import { expect, test } from 'vitest'
import { buildDeb } from '../../samples/deb.ts'
import type { Gate } from '../harness.ts'
import { eventsOf, form } from '../http.ts'
import { published, staged } from './seen.ts'

interface StepData {
  name: string
  label: string
  status: string
  message: string
  detail: unknown
}

/** The steps of the decisions, section 6, in the order of the pipeline. */
const STEPS = [
  'reception',
  'validation',
  'checksum',
  'format',
  'antivirus',
  'cve',
  'gpg',
  'dependencies',
  'pool',
  'manifest',
  'index',
]

export function streamContract(gate: Gate): void {
  async function stream(file: Uint8Array, distribution: string) {
    const reply = await gate.call(
      'POST',
      '/upload/stream',
      form([
        { name: 'distribution', value: distribution },
        { name: 'file', value: file, filename: 'a.deb' },
      ]),
    )
    const events = eventsOf(reply.text)
    const steps = events.filter((event) => event.event === 'step').map((event) => JSON.parse(event.data) as StepData)
    const results = events
      .filter((event) => event.event === 'result')
      .map((event) => JSON.parse(event.data) as Record<string, unknown>)
    return { reply, events, steps, results }
  }

  test('every step is sent, then the result, then done', async () => {
    const { reply, events, steps, results } = await stream(await buildDeb({ name: 'streamed' }), 'bookworm')
    expect(reply.status).toBe(200)
    expect(reply.headers).toMatchObject({
      'content-type': expect.stringMatching(/^text\/event-stream/),
      'x-accel-buffering': 'no',
      'x-request-id': expect.any(String),
    })
    expect(reply.text).toMatch(/^retry: 3000\n\n/)
    expect([...new Set(steps.map((step) => step.name))].sort()).toEqual([...STEPS].sort())
    for (const step of steps) {
      expect(Object.keys(step)).toEqual(['name', 'label', 'status', 'message', 'detail'])
      expect(['running', 'done', 'warn', 'error']).toContain(step.status)
    }
    const finished = steps.filter((step) => step.status !== 'running').map((step) => step.name)
    expect(
      finished.filter((name) =>
        ['antivirus', 'cve', 'gpg', 'dependencies', 'pool', 'index', 'validation'].includes(name),
      ),
    ).toEqual(['antivirus', 'cve', 'gpg', 'dependencies', 'pool', 'index', 'validation'])
    expect(finished[0]).toBe('reception')
    for (const name of ['antivirus', 'cve', 'gpg', 'dependencies', 'index']) {
      const statuses = steps.filter((step) => step.name === name).map((step) => step.status)
      expect([name, statuses[0], statuses.length]).toEqual([name, 'running', 2])
    }
    expect(results).toMatchObject([
      {
        status: 'published',
        package: 'streamed',
        distribution: 'bookworm',
        pipeline: { gpg: 'signed' },
        duplicate: false,
      },
    ])
    expect(events.slice(-2).map(({ event, data }) => [event, event === 'message' ? data : ''])).toEqual([
      ['result', ''],
      ['message', 'done'],
    ])
    expect(await published(gate, 'bookworm')).toContain('streamed 1.0-1')
    expect(await staged(gate)).toEqual([])
  })

  test.each([
    ['no package', async () => Buffer.from('text'), 'invalid_package'],
    ['another architecture', () => buildDeb({ arch: 'armhf' }), 'arch_mismatch'],
    ['an existing package', () => buildDeb({ name: 'streamed' }), 'already_exists'],
    [
      'other bytes of an existing file name',
      () => buildDeb({ name: 'streamed', files: { other: 'x' } }),
      'duplicate_conflict',
    ],
  ])('%s ends with one result, the error body', async (_, make, code) => {
    const { reply, events, steps, results } = await stream(await make(), 'bookworm')
    expect(reply.status).toBe(200)
    expect(results).toMatchObject([{ code, detail: expect.stringMatching(/./) }])
    expect(results[0]?.['status']).toBe('error')
    expect(steps.at(-1)).toMatchObject({ name: 'validation', status: 'error' })
    expect(events.at(-1)).toEqual({ event: 'message', data: 'done' })
    expect(await staged(gate)).toEqual([])
  })

  test('an error before the package is received keeps its HTTP status', async () => {
    expect((await stream(await buildDeb(), 'warty')).reply).toMatchObject({
      status: 400,
      body: { code: 'unknown_distribution' },
    })
    expect((await stream(await buildDeb(), '')).reply).toMatchObject({
      status: 400,
      body: { code: 'validation_error' },
    })
  })
}
