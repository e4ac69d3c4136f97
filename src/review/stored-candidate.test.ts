// A step that is too slow: its caller gets an error, and files that it returns later do not stay in staging.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Settings } from '../domain/settings.ts'
import type { Candidate, StepResult } from '../gate/step.ts'
import { exists } from '../kernel/files.ts'
import { stepRunner } from './stored-candidate.ts'

test('the copy that a step signs after its time is removed, and the file that it was given stays', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'late-step-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const [given, signed] = [join(directory, 'given'), join(directory, 'signed')]
  for (const path of [given, signed]) await writeFile(path, 'bytes')
  const candidate = { path: given } as Candidate
  let bring!: (result: StepResult) => void
  const step = { key: 'gpg' as const, label: 'Signature', run: () => new Promise<StepResult>((made) => (bring = made)) }
  const run = stepRunner({ steps: [step], settings: () => ({}) as Settings }, 5)
  await expect(run('gpg', candidate)).rejects.toMatchObject({ code: 'timeout' })
  bring({
    seen: { result: 'signed', message: '' },
    candidate: { ...candidate, path: signed },
  })
  await expect.poll(() => exists(signed)).toBe(false)
  expect(await exists(given)).toBe(true)
})
