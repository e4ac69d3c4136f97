// Addresses, headers and the OpenAPI document of all declared routes. A new route is covered as soon as it is declared.
import { afterAll, describe, expect, test } from 'vitest'
import { startGate } from '../harness.ts'
import { addressContract } from './addresses.ts'
import { headerContract } from './headers.ts'
import { openapiContract } from './openapi.ts'

const gate = await startGate()
afterAll(() => gate.close())

describe('paths', () => addressContract(gate))
describe('headers', () => headerContract(gate))
describe('the OpenAPI document', () => openapiContract(gate))

test('no test above caused an unexpected error', () => {
  expect(gate.errors).toEqual([])
})
