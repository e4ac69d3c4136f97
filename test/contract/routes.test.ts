// What holds for every declared route: a route added later is covered by being declared.
import { afterAll, describe, expect, test } from 'vitest'
import { invite, startGate } from './harness.ts'
import { accessContract } from './routes/access.ts'
import { addressContract } from './routes/addresses.ts'
import { badCredentials } from './routes/credentials.ts'
import { headerContract } from './routes/headers.ts'
import { inputContract } from './routes/input.ts'
import { openapiContract } from './routes/openapi.ts'

const gate = await startGate({ start: false, people: false })
const credentials = await badCredentials(gate)
await gate.app.start()
await invite(gate)
afterAll(() => gate.close())

describe('who may call', () => accessContract(gate, credentials))
describe('what is asked', () => inputContract(gate))
describe('where it is asked', () => addressContract(gate))
describe('what goes along', () => headerContract(gate))
describe('the OpenAPI document', () => openapiContract(gate))

test('none of all this met an error that nobody expected', () => {
  expect(gate.errors).toEqual([])
})
