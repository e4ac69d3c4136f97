// Settings as people write them.
import { expect, test } from 'vitest'
import { at, bodyOf, flat } from './assignments.ts'

const PRESENT = {
  app_url: 'https://a',
  email: { enabled: false, smtp_port: 25, recipients: ['a@example.org'], from: null },
  sources: { 'alpine-3.20': true, 'alpine-3.20-community': false },
  empty: {},
}

test.each([
  [['app_url=https://b'], { app_url: 'https://b' }],
  [['app_url=a=b'], { app_url: 'a=b' }],
  [['app_url='], { app_url: '' }],
  [['email.enabled=true', 'email.smtp_port=587'], { email: { enabled: true, smtp_port: 587 } }],
  [['email.recipients=["b@example.org"]'], { email: { recipients: ['b@example.org'] } }],
  [['email.from=me@example.org'], { email: { from: 'me@example.org' } }],
  [['sources.alpine-3.20-community=true'], { sources: { 'alpine-3.20-community': true } }],
  [['email={"enabled":true}'], { email: { enabled: true } }],
])('%j is the body %j', (assignments, body) => {
  expect(bodyOf(assignments, PRESENT)).toEqual(body)
})

test.each([
  [['email.port=1'], 'there is no email.port; there are enabled, smtp_port'],
  [['nothing=1'], 'there is no nothing'],
  [['app_url.x=1'], 'there is no app_url.x'],
  [['email.smtp_port=many'], 'email.smtp_port is 25 now'],
  [['app_url'], 'write KEY=VALUE'],
  [['=x'], 'write KEY=VALUE'],
])('%j is refused: %s', (assignments, text) => {
  expect(() => bodyOf(assignments, PRESENT)).toThrow(text)
})

test('every value has a line, and every line a value', () => {
  const lines = flat(PRESENT)
  expect(lines.map(([key]) => key)).toEqual([
    'app_url',
    ...['email.enabled', 'email.smtp_port', 'email.recipients', 'email.from'],
    ...['sources.alpine-3.20', 'sources.alpine-3.20-community', 'empty'],
  ])
  for (const [key, value] of lines) expect(at(PRESENT, key)).toEqual(value)
})
