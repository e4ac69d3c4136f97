// Wrong input for each declared route. A new route is covered as soon as it is declared.
import { afterAll, expect, test } from 'vitest'
import { startGate } from '../harness.ts'
import { inputContract } from './input.ts'

const gate = await startGate()
afterAll(() => gate.close())

inputContract(gate)

test('no test above caused an unexpected error', () => {
  expect(gate.errors).toEqual([])
})
