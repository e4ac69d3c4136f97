// The built command against a real service, as people and CI systems use it. One service for all: its start takes longest.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeTemporary } from '../service.ts'
import { accountCases } from './accounts.ts'
import { commandCases } from './commands.ts'
import { dailyCases } from './daily.ts'
import { downloadCases } from './download.ts'
import { exampleCases } from './examples.ts'
import { killCases } from './kills.ts'
import { networkCases } from './network.ts'
import { registryCases } from './registries.ts'
import { sessionCases } from './sessions.ts'
import { shellCases } from './shells.ts'
import { signalCases } from './signals.ts'
import { startStage, type Stage } from './stage.ts'
import { streamCases } from './streams.ts'
import { tlsCases } from './tls.ts'
import { waitingCases } from './waiting.ts'
import { uploadCases } from './uploads.ts'

const stage = {} as Stage

beforeAll(async () => {
  Object.assign(stage, await startStage())
})
afterAll(async () => {
  await stage.close?.()
  await removeTemporary()
})

// Waits a minute for the limit and for the end of a session, while all other cases run.
const lookAtWaiting = waitingCases(stage)
uploadCases(stage)
commandCases(stage)
dailyCases(stage)
downloadCases(stage)
accountCases(stage)
registryCases(stage)
sessionCases(stage)
streamCases(stage)
networkCases(stage)
tlsCases(stage)
signalCases(stage)
shellCases(stage)
exampleCases(stage)
lookAtWaiting()

test('no token or password was printed by any of these runs', () => {
  const printed = stage.homes.flatMap((home) => home.printed).join('\n')
  expect(printed.length).toBeGreaterThan(10_000)
  expect(stage.secrets.length).toBeGreaterThan(4)
  for (const secret of stage.secrets) expect(printed.includes(secret)).toBe(false)
  // Every JWT begins with this.
  expect(printed).not.toContain('eyJ')
})

killCases(stage)
