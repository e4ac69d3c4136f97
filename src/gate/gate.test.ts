// How the gate runs its steps and combines their verdicts.
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Settings } from '../domain/settings.ts'
import type { Outcome, PipelineKey, PipelineResult, Verdict } from '../domain/status.ts'
import { asStep, combine, nothingRun, runGate } from './gate.ts'
import type { Candidate, Step, StepEvent, StepResult } from './step.ts'

const settings = {} as Settings
const candidate = { path: '/staged' } as Candidate
const NAMES: Record<PipelineKey, Verdict['name']> = {
  antivirus: 'antivirus',
  cve_scan: 'cve',
  gpg: 'gpg',
  dependencies: 'dependencies',
}
const ended = (key: PipelineKey, outcome: Outcome, result: PipelineResult, more = {}): StepResult => ({
  verdict: { name: NAMES[key], outcome, result, message: `${key} ${result}` },
  ...more,
})
const step = (key: PipelineKey, outcome: Outcome, result: PipelineResult, more = {}): Step => ({
  key,
  label: key,
  run: () => Promise.resolve(ended(key, outcome, result, more)),
})

describe('combining verdicts', () => {
  const clean = ended('antivirus', 'pass', 'clean')
  const unscanned = ended('antivirus', 'hold', 'limited')
  test.each<
    [string, [PipelineKey, StepResult][], { status: string; heldReason: string | null; cveStatus: string | null }]
  >([
    ['nothing ran', [], { status: 'published', heldReason: null, cveStatus: null }],
    ['a step passed', [['antivirus', clean]], { status: 'published', heldReason: null, cveStatus: null }],
    [
      'a finding asks for review',
      [['cve_scan', ended('cve_scan', 'hold', 'review')]],
      { status: 'pending_review', heldReason: 'cve_review', cveStatus: 'pending_review' },
    ],
    [
      'a scan could not judge',
      [['antivirus', unscanned]],
      { status: 'pending_review', heldReason: 'unscanned', cveStatus: null },
    ],
    [
      'a finding follows a scan that could not judge',
      [
        ['antivirus', unscanned],
        ['cve_scan', ended('cve_scan', 'hold', 'review')],
      ],
      { status: 'pending_review', heldReason: 'cve_review', cveStatus: 'pending_review' },
    ],
    [
      'there are no advisories',
      [
        ['antivirus', unscanned],
        ['cve_scan', ended('cve_scan', 'hold', 'no_data')],
      ],
      { status: 'pending_review', heldReason: 'unscanned', cveStatus: 'pending_review' },
    ],
    [
      'a later step passed after a hold',
      [
        ['antivirus', unscanned],
        ['cve_scan', ended('cve_scan', 'pass', 'no_findings')],
      ],
      { status: 'pending_review', heldReason: 'unscanned', cveStatus: 'approved' },
    ],
    [
      'a step refused after a hold',
      [
        ['antivirus', unscanned],
        ['cve_scan', ended('cve_scan', 'refuse', 'blocked')],
      ],
      { status: 'quarantined', heldReason: null, cveStatus: 'blocked' },
    ],
    [
      'a step warned',
      [['cve_scan', ended('cve_scan', 'warn', 'warning')]],
      { status: 'published', heldReason: null, cveStatus: 'approved' },
    ],
  ])('%s', (_, steps, expected) => {
    const result = steps.reduce((before, [key, one]) => combine(before, key, one), nothingRun(candidate))
    expect(result).toMatchObject(expected)
    expect(result.steps).toEqual(steps.map(([, { verdict }]) => asStep(verdict)))
  })

  test.each<[PipelineResult, Outcome, boolean]>([
    ['no_findings', 'pass', true],
    ['review', 'hold', true],
    ['skipped', 'pass', false],
    ['no_data', 'warn', false],
    ['error', 'hold', false],
  ])('the result %s of the vulnerability scan counts as scanned or not', (result, outcome, scanned) => {
    const after = combine(nothingRun(candidate), 'cve_scan', ended('cve_scan', outcome, result))
    expect(after.cveSummary).toMatchObject({ scanned, passed: outcome !== 'hold' })
  })

  test('a result is not changed by the next one', () => {
    const before = nothingRun(candidate)
    combine(before, 'antivirus', ended('antivirus', 'warn', 'skipped'))
    expect(before).toEqual(nothingRun(candidate))
  })
})

test('a step that refuses ends the gate, and later keys stay not_run', async () => {
  const events: string[] = []
  const { pipeline, status } = await runGate(
    [step('antivirus', 'refuse', 'infected'), step('cve_scan', 'pass', 'no_findings')],
    candidate,
    settings,
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
  const steps = [step('gpg', 'pass', 'signed', { candidate: { path: signed } }), failing]
  await expect(runGate(steps, { path: received } as Candidate, settings, () => {})).rejects.toThrow('database gone')
  await expect(access(signed)).rejects.toThrow('ENOENT')
  await access(received)
  await rm(directory, { recursive: true })
})
