import { expect, test } from 'vitest'
import { eventWords } from './events.ts'

test.each([
  ['SECURITY_DECISION', 'SUCCESS', 'accept_risk', 'Approved: risk accepted', 'good'],
  ['SECURITY_DECISION', 'SUCCESS', 'reject', 'Rejected', 'bad'],
  ['SECURITY_DECISION', 'FAILURE', 'accept_risk', 'Security decision', 'bad'],
  ['SECURITY_DECISION', 'SUCCESS', 'of a later build', 'Security decision', 'good'],
  ['CVE_REMATCH', 'WARNING', null, 'CVE rematch', 'care'],
  ['API_TOKEN_CREATE', 'SUCCESS', null, 'API token create', 'good'],
])('%s %s %s', (action, result, outcome, text, tone) => {
  expect(eventWords({ action, result, outcome })).toEqual({ text, tone })
})
