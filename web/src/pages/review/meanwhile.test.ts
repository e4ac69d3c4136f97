import { expect, test } from 'vitest'
import { decisionInForce, meanwhile } from './meanwhile.ts'

const NOW = Date.parse('2026-11-24T15:00:00Z')
const where = { package: 'curl', version: '1', distribution: 'noble', arch: 'amd64' }
const decision = (more: object) => ({
  ...where,
  ...{ id: 1, action: 'accept_risk', active: true, decided_by: 'ann', decided_at: '2026-11-24T14:59:57Z' },
  justification: 'not reachable',
  ...more,
})
const evidence = (status: string, served: boolean, decisions: object[]) =>
  ({ ...where, status, served, decisions }) as never

test('a reviewer who came too late reads who decided what, when, why, and what clients get', () => {
  expect(meanwhile(evidence('published', true, [decision({})]), NOW)).toBe(
    'Approved by ann, 3 s ago: “not reachable”. Clients get it now.',
  )
  const rejected = decision({ action: 'reject', decided_at: '2026-11-24T13:00:00Z' })
  expect(meanwhile(evidence('rejected', false, [rejected]), NOW)).toBe(
    'Rejected by ann, 2 hours ago: “not reachable”. No client gets it.',
  )
  expect(meanwhile(evidence('quarantined', false, []), NOW)).toBe('It is quarantined now. No client gets it.')
})

test('decisions about other records, and those that ended, did not decide this one', () => {
  const others = [decision({ id: 4, distribution: 'jammy' }), decision({ id: 3, active: false }), decision({ id: 2 })]
  expect(decisionInForce(evidence('published', true, others))?.id).toBe(2)
})
