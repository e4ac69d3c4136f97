// Who may call each declared route. A new route is covered as soon as it is declared.
import { afterAll, expect, test } from 'vitest'
import { invite, startGate } from '../harness.ts'
import { accessContract } from './access.ts'
import { badCredentials } from './credentials.ts'

const gate = await startGate({ start: false, people: false })
const credentials = await badCredentials(gate)
await gate.app.start()
await invite(gate)
afterAll(() => gate.close())

accessContract(gate, credentials)

test('no test above caused an unexpected error', () => {
  expect(gate.errors).toEqual([])
})
