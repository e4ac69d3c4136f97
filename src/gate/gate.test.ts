// How the gate runs its steps, and what the answer shows of the decision.
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Settings } from '../domain/settings.ts'
import type { CheckKey, PipelineResult } from '../domain/status.ts'
import { runGate } from './gate.ts'
import type { Candidate, Step, StepEvent, StepResult } from './step.ts'

const settings = { validation: { on_unscanned: 'hold' }, cve_policy: {} } as Settings
const now = new Date('2026-03-05T00:00:00Z')
const candidate = { path: '/staged', format: {} } as Candidate
const step = (key: CheckKey, result: PipelineResult, more: Partial<StepResult> = {}, concern = false): Step => ({
  key,
  label: key,
  run: () => Promise.resolve({ seen: { result, message: `${key} ${result}`, concern }, ...more }),
})
const run = (steps: Step[], how = settings, progress: (event: StepEvent) => void = () => {}) =>
  runGate(steps, candidate, how, now, progress)

test('the answer has its four keys whatever else is checked, and the warnings of those that warned', async () => {
  const { pipeline, status, steps, warnings } = await run([
    step('antivirus', 'skipped', {}, true),
    step('dependencies', 'missing', { missing: ['libone'] }),
    step('license', 'satisfied'),
  ])
  expect(status).toBe('published')
  expect(pipeline).toEqual({ antivirus: 'skipped', cve_scan: 'not_run', gpg: 'not_run', dependencies: 'missing' })
  expect(warnings).toEqual(['antivirus skipped', 'dependencies missing'])
  expect(steps).toMatchObject([
    { name: 'antivirus', passed: true, warning: true },
    { name: 'dependencies' },
    { name: 'license', passed: true },
  ])
})

test.each<[PipelineResult, boolean, boolean]>([
  ['skipped', false, true],
  ['no_data', false, false],
  ['error', false, false],
])(
  'the result %s of the vulnerability scan counts as scanned: %s, and as passed: %s',
  async (result, scanned, passed) => {
    expect((await run([step('cve_scan', result)])).cveSummary).toMatchObject({ scanned, passed })
  },
)

test.each([
  ['error', 'scanner_unavailable', 60],
  ['no_data', 'scan_incomplete', 3600],
] as const)(
  'where nothing unscanned is taken, the result %s is the error %s',
  async (result, code, retryAfterSeconds) => {
    const refusing = { validation: { on_unscanned: 'refuse' }, cve_policy: {} } as Settings
    const events: string[] = []
    const ended = run([step('cve_scan', result)], refusing, ({ status }) => void events.push(status))
    await expect(ended).rejects.toMatchObject({ code, detail: `cve_scan ${result}`, retryAfterSeconds })
    expect(events).toEqual(['running'])
  },
)

test('a step that refuses ends the gate, and later keys stay not_run', async () => {
  const events: string[] = []
  const { pipeline, status } = await runGate(
    [step('antivirus', 'infected'), step('cve_scan', 'no_findings')],
    candidate,
    settings,
    now,
    ({ name, status }: StepEvent) => void events.push(`${name} ${status}`),
  )
  expect(status).toBe('quarantined')
  expect(pipeline).toEqual({ antivirus: 'infected', cve_scan: 'not_run', gpg: 'not_run', dependencies: 'not_run' })
  expect(events).toEqual(['antivirus running', 'antivirus error'])
})

test('a file that a step wrote is removed when a later step throws', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gate-'))
  const signed = join(directory, 'signed')
  const received = join(directory, 'received')
  await writeFile(signed, '')
  await writeFile(received, '')
  const failing: Step = { key: 'dependencies', label: '', run: () => Promise.reject(new Error('database gone')) }
  const steps = [step('gpg', 'signed', { candidate: { path: signed } as Candidate }), failing]
  await expect(runGate(steps, { ...candidate, path: received }, settings, now, () => {})).rejects.toThrow(
    'database gone',
  )
  await expect(access(signed)).rejects.toThrow('ENOENT')
  await access(received)
  await rm(directory, { recursive: true })
})
