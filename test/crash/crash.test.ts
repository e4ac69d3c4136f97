// Kills the process at every checkpoint of every operation: no acknowledged change is lost, and nothing is left over.
// Cases whose code path another case covers run only in the long form:
//   CRASH_FORM=long npx vitest run --config vitest.suites.config.ts test/crash/crash.test
import { describe, expect, it } from 'vitest'
import { CHECKPOINTS } from '../../src/kernel/checkpoint.ts'
import { testDeaths } from './die-and-return.ts'
import type { Engine } from './installations.ts'
import { OPERATIONS } from './operations.ts'
import type { Format } from './packages.ts'

const LONG = process.env['CRASH_FORM'] === 'long'
const DEATHS = OPERATIONS.flatMap((operation) =>
  operation.passes
    .filter(([, , form]) => LONG || form !== 'long')
    .map(([checkpoint, then]) => ({ operation, checkpoint, then })),
)

it('every checkpoint is covered by an operation', () => {
  // `downloads-counted` is passed without a request: test/gate/downloads.test.ts kills there.
  const passed = new Set([...DEATHS.map(({ checkpoint }) => checkpoint.split(':')[0]), 'downloads-counted'])
  expect([...CHECKPOINTS].filter((name) => !passed.has(name))).toEqual([])
})

describe.each<[Engine, Format]>([
  ['postgres', 'apt'],
  ['postgres', 'rpm'],
  ['postgres', 'apk'],
  ['pglite', 'apt'],
])('on %s with %s packages a process that dies at', (engine, format) => {
  testDeaths(
    { engine, format },
    DEATHS.filter(
      ({ operation, checkpoint }) =>
        operation.format === format &&
        (engine === 'postgres' || operation.alsoEmbedded?.some((name) => checkpoint === name)),
    ),
  )
})
