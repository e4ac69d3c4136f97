// Uploading, listing and deleting packages, and health, audit log and settings of the same service.
import { afterAll, describe, expect, test } from 'vitest'
import { startGate } from './harness.ts'
import { artifactContract } from './packages/artifacts.ts'
import { auditContract } from './packages/audit.ts'
import { deletionContract } from './packages/deletion.ts'
import { dependencyContract } from './packages/dependencies.ts'
import { distributionContract } from './packages/distributions.ts'
import { formContract } from './packages/form.ts'
import { sbomContract } from './packages/sbom.ts'
import { settingsContract } from './packages/settings.ts'
import { streamContract } from './packages/stream.ts'
import { uploadContract } from './packages/upload.ts'
import { wellbeingContract } from './packages/wellbeing.ts'

const gate = await startGate()
afterAll(() => gate.close())

describe('health, readiness and metrics', () => wellbeingContract(gate))
describe('uploads', () => uploadContract(gate))
describe('upload forms', () => formContract(gate))
describe('uploads with progress', () => streamContract(gate))
describe('artifacts', () => artifactContract(gate))
describe('dependencies', () => dependencyContract(gate))
describe('deletion', () => deletionContract(gate))
describe('distributions', () => distributionContract(gate))
describe('bills of materials', () => sbomContract(gate))
describe('the audit log', () => auditContract(gate))
describe('settings and policy', () => settingsContract(gate))

test('no test above caused an unexpected error', () => {
  expect(gate.errors).toEqual([])
})
