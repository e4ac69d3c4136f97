// Which scanners are used, by configuration and installed programs, and their databases seen as one.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEnv } from '../../../config/env.ts'
import type { Log } from '../../../kernel/log.ts'
import type { AdvisoryData } from '../osv/data.ts'
import type { CveScanner, EngineStatus, UpdateOutcome } from '../scanner.ts'
import { chooseScanners } from './choice.ts'
import { withExternal } from './data.ts'
import type { ExternalScanner } from './scanner.ts'

const clock = { now: () => new Date('2026-11-21T18:00:00Z') }
const embedded = { name: 'osv' } as CveScanner
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'choice-'))
  for (const name of ['grype', 'trivy']) {
    await writeFile(join(directory, name), '#!/bin/sh\n')
    await chmod(join(directory, name), 0o755)
  }
})
afterAll(() => rm(directory, { recursive: true, force: true }))

describe('the scanners', () => {
  const HERE = { PATH: '<here>' }
  const NOWHERE = { PATH: '/nowhere' }
  test.each<[string, Record<string, string>, string[], number]>([
    ['nothing is here', NOWHERE, ['osv'], 0],
    ['programs are on the PATH', HERE, ['grype', 'osv'], 0],
    ['a variable names grype', { ...NOWHERE, GRYPE_BIN: '<here>/grype' }, ['grype', 'osv'], 0],
    ['a variable names a grype that is not there', { ...HERE, GRYPE_BIN: '/nowhere/grype' }, ['grype', 'osv'], 1],
    ['the embedded matcher is to be first', { ...HERE, SVC_CVE_SCANNERS: 'osv,grype' }, ['osv', 'grype'], 0],
    ['all three are wanted', { ...HERE, SVC_CVE_SCANNERS: 'trivy,grype,osv' }, ['trivy', 'grype', 'osv'], 0],
    ['a scanner is wanted twice', { ...HERE, SVC_CVE_SCANNERS: 'grype,grype' }, ['grype'], 0],
    ['trivy is wanted and not here', { ...NOWHERE, SVC_CVE_SCANNERS: 'trivy,osv' }, ['osv'], 1],
    [
      'trivy is here by its variable',
      { ...NOWHERE, SVC_CVE_SCANNERS: 'trivy,osv', TRIVY_BIN: '<here>/trivy' },
      ['trivy', 'osv'],
      0,
    ],
    ['none is wanted', { ...HERE, SVC_CVE_SCANNERS: 'none' }, ['osv'], 0],
    ['only what is not here is wanted', { ...NOWHERE, SVC_CVE_SCANNERS: 'grype,trivy' }, ['osv'], 1],
  ])('when %s', async (_, variables, names, told) => {
    const said: unknown[] = []
    const log = {
      warn: (line: unknown) => said.push(line),
      error: (line: unknown) => said.push(line),
    } as unknown as Log
    const given = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, value.replace('<here>', directory)]),
    )
    const { env } = readEnv({
      DATABASE_URL: 'pglite:///nowhere',
      JWT_SECRET_KEY: 'a secret of some length, for a test',
      ...given,
    })
    const { scanners, external } = await chooseScanners({ env, embedded, clock, log })
    expect(scanners.map(({ name }) => name)).toEqual(names)
    expect(external.map(({ name }) => name)).toEqual(names.filter((name) => name !== 'osv'))
    expect(said).toHaveLength(told)
  })
})

describe('their databases', () => {
  const status = (engine: string, date: string | null): EngineStatus => ({
    available: date !== null,
    engine,
    version: null,
    db_version: null,
    db_date: date,
    db_updated_at: null,
    db_files: [],
    daemon_running: false,
    cooldown_until: null,
    error: null,
  })
  const own = (outcome: UpdateOutcome['status']): AdvisoryData => ({
    hasSources: true,
    status: async () => status('osv', null),
    ageSeconds: async () => 1,
    update: async () => ({ status: outcome, message: 'own' }),
  })

  function grype(date: string | null, outcome: UpdateOutcome['status']) {
    const state = { asked: 0, updates: 0 }
    const scanner: ExternalScanner = {
      name: 'grype',
      scan: () => Promise.reject(new Error('not asked')),
      status: async () => (state.asked++, status('grype', date)),
      async update(progress) {
        state.updates++
        progress?.('line')
        return { status: outcome, message: 'theirs' }
      },
    }
    return { scanner, state }
  }

  test('are reported by the first scanner, which is not asked each time', async () => {
    const { scanner, state } = grype('2026-11-21T17:00:00Z', 'updated')
    const data = withExternal(own('up_to_date'), [scanner], 'grype', clock)
    for (let i = 0; i < 5; i++) expect([(await data.status()).engine, await data.ageSeconds()]).toEqual(['grype', 3600])
    expect(state.asked).toBe(1)
    const second = withExternal(own('up_to_date'), [scanner], 'osv', clock)
    expect([(await second.status()).engine, await second.ageSeconds()]).toEqual(['osv', 1])
    expect(await withExternal(own('up_to_date'), [grype(null, 'failed').scanner], 'grype', clock).ageSeconds()).toBe(
      null,
    )
  })

  test('are updated when they are a day old, missing, or on request', async () => {
    const updates = async (date: string | null, force: boolean) => {
      const { scanner, state } = grype(date, 'updated')
      await withExternal(own('up_to_date'), [scanner], 'grype', clock).update(() => {}, { force })
      return state.updates
    }
    expect(await updates('2026-11-20T18:00:01Z', false)).toBe(0)
    expect(await updates('2026-11-20T17:59:59Z', false)).toBe(1)
    expect(await updates('2026-11-21T17:59:59Z', true)).toBe(1)
    expect(await updates(null, false)).toBe(1)
  })

  test.each<[UpdateOutcome['status'], UpdateOutcome['status'], string, UpdateOutcome['status']]>([
    ['updated', 'failed', 'grype', 'updated'],
    ['up_to_date', 'updated', 'grype', 'updated'],
    ['up_to_date', 'failed', 'grype', 'failed'],
    ['failed', 'up_to_date', 'grype', 'up_to_date'],
    ['failed', 'up_to_date', 'osv', 'failed'],
  ])('own %s and external %s, judged by %s, is %s', async (first, second, judge, word) => {
    const lines: string[] = []
    const outcome = await withExternal(own(first), [grype(null, second).scanner], judge, clock).update(
      (line) => void lines.push(line),
    )
    expect(outcome).toEqual({ status: word, message: 'osv: own; grype: theirs' })
    expect(lines).toEqual(['grype: line'])
  })

  test('are unchanged without external scanners', () => {
    const advisories = own('updated')
    expect(withExternal(advisories, [], 'osv', clock)).toBe(advisories)
  })
})
