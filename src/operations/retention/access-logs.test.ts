// Access logs: which are rotated and which are deleted, while a listener continues to write.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Database } from '../../store/db.ts'
import { accessLogsStep } from './access-logs.ts'
import type { StepProgress } from './step.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-logs-'))
  return () => rm(directory, { recursive: true, force: true })
})

const progress: StepProgress = {
  by: 'test',
  before: null,
  save: async () => {},
  line: () => {},
  signal: new AbortController().signal,
}
const stepAt = (time: string) =>
  accessLogsStep({
    clock: { now: () => new Date(time) },
    directory,
    db: database.db,
    settings: () => ({ retention: { access_log_days: 2 } }) as never,
  })

test('logs are renamed once a day and deleted after the kept days; other files stay', async () => {
  const put = (name: string, text = 'line\n') => writeFile(join(directory, name), text)
  await put('access-apt.log')
  await put('access-rpm.log', '')
  for (const name of [
    'access-apt.log-20260307',
    'access-apt.log-20260307.gz',
    'access-apt.log-20260307-12000012342',
    'access-apt.log-20260308',
    'access-apt.log-old',
    'service.log-20200101',
  ])
    await put(name)
  const step = stepAt('2026-03-10T03:30:00Z')
  expect(await step.plan(progress.signal)).toEqual({ files: 3, downloads: 0 })
  expect(await step.run(progress)).toEqual({ files: 3, rotated: 1, downloads: 0 })
  await put('access-apt.log', 'later\n')
  expect(await step.run(progress)).toEqual({ files: 0, rotated: 0, downloads: 0 })
  expect((await readdir(directory)).sort()).toEqual([
    'access-apt.log',
    'access-apt.log-20260308',
    'access-apt.log-20260310',
    'access-apt.log-old',
    'access-rpm.log',
    'service.log-20200101',
  ])
  expect(await readFile(join(directory, 'access-apt.log-20260310'), 'utf8')).toBe('line\n')
})

test('a directory that is not there yet has nothing to remove', async () => {
  await rm(directory, { recursive: true })
  expect(await stepAt('2026-03-10T03:30:00Z').run(progress)).toEqual({ files: 0, rotated: 0, downloads: 0 })
})
