// The endpoints of the web console and of clients: filters of the lists, one of each list, the evidence of a review, decisions about several packages.
import { afterAll, describe, expect, test } from 'vitest'
import { startGate } from './harness.ts'
import { cveScanner, fill } from './console/samples.ts'
import { advisoryContract, fixHereContract } from './console/advisory.ts'
import { assignContract } from './console/assign.ts'
import { bulkContract } from './console/bulk.ts'
import { detailContract } from './console/details.ts'
import { exportContract } from './console/exports.ts'
import { evidenceContract } from './console/evidence.ts'
import { fixContract } from './console/fixes.ts'
import { oneContract } from './console/one.ts'
import { queueContract } from './console/queue.ts'
import { undoContract } from './console/undo.ts'
import { vulnerabilityContract } from './console/vulnerabilities.ts'

const gate = await startGate({ overrides: { cveScanner } })
await fill(gate)
afterAll(() => gate.close())

describe('the review queue', () => queueContract(gate))
describe('who has to look at a held package', () => assignContract(gate))
describe('an advisory', () => advisoryContract(gate))
describe('vulnerabilities', () => vulnerabilityContract(gate))
describe('the evidence of a review', () => evidenceContract(gate))
describe('lists as files', () => exportContract(gate))
describe('details', () => detailContract(gate))
describe('the fix of an advisory', () => fixHereContract(gate))
describe('one of a list', () => oneContract(gate))
describe('decisions about several packages', () => bulkContract(gate))
describe('undone decisions', () => undoContract(gate))
describe('fixes', () => fixContract(gate))

test('no test above caused an unexpected error', () => {
  expect(gate.errors).toEqual([])
})
