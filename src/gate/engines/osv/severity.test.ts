import { expect, test } from 'vitest'
import { rate, saysWontFix, severityOfWord } from './severity.ts'

const V3 = { type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }
const V4 = { type: 'CVSS_V4', score: 'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:L/VI:L/VA:N/SC:N/SI:N/SA:N' }

test.each([
  ['newest CVSS version', { severity: [V3, V4] }, {}, 'Medium', 6.9],
  [
    'a broken vector is passed over',
    { severity: [{ type: 'CVSS_V4', score: 'CVSS:4.0/AV:N' }, V3] },
    {},
    'Critical',
    9.8,
  ],
  [
    'CVSS before words',
    { severity: [V3], database_specific: { severity: 'LOW' }, summary: 'Low: x' },
    {},
    'Critical',
    9.8,
  ],
  ["the entry's CVSS before the record's", { severity: [V3] }, { severity: [V4] }, 'Medium', 6.9],
  ['Ubuntu priority before CVSS', { severity: [V3, { type: 'Ubuntu', score: 'low' }] }, {}, 'Low', 9.8],
  [
    'an untriaged priority rates nothing',
    { severity: [V3, { type: 'Ubuntu', score: 'untriaged' }] },
    {},
    'Critical',
    9.8,
  ],
  ['Debian urgency', { severity: [V3] }, { ecosystem_specific: { urgency: 'unimportant' } }, 'Negligible', 9.8],
  ['Debian urgency set by a machine', {}, { ecosystem_specific: { urgency: 'medium**' } }, 'Medium', null],
  ['not yet assigned', {}, { ecosystem_specific: { urgency: 'not yet assigned' } }, 'Unknown', null],
  ['word of the database', { database_specific: { severity: 'MODERATE' } }, {}, 'Medium', null],
  ['word of the ecosystem', {}, { ecosystem_specific: { severity: 'Important' } }, 'High', null],
  ['vector among own keys', {}, { database_specific: { cvss: V3.score } }, 'Critical', 9.8],
  ['vector as an object', { database_specific: { cvss: { score: 9.8, vectorString: V3.score } } }, {}, 'Critical', 9.8],
  ['first word of the summary', { summary: 'Important: kernel security update' }, {}, 'High', null],
  [
    'word at the end of the summary',
    { summary: 'ALSA-2022:5468: php:8.0 security update (Important)' },
    {},
    'High',
    null,
  ],
  ['a summary that rates nothing', { summary: 'None: kernel update' }, {}, 'Unknown', null],
  ['a word inside the summary', { summary: 'NetworkManager fixes a critical problem' }, {}, 'Unknown', null],
  ['malicious packages', { id: 'MAL-2025-1', summary: 'Malicious code in x (npm)' }, {}, 'Critical', null],
  [
    'keys of a wrong type',
    { severity: 'high', database_specific: [], summary: 3 },
    { severity: [null, 1] },
    'Unknown',
    null,
  ],
])('%s', (_what, record, affected, severity, cvss) => {
  expect(rate(record, affected)).toEqual({ severity, cvss })
})

test('words that rate nothing', () => {
  for (const word of ['', 'none', 'untriaged', 'constructor', 'end-of-life']) expect(severityOfWord(word)).toBeNull()
})

test('a package that will not be fixed', () => {
  expect(saysWontFix({ ecosystem_specific: { urgency: 'end-of-life' } })).toBe(true)
  expect(saysWontFix({ database_specific: { fix_state: 'Will not fix' } })).toBe(true)
  expect(saysWontFix({ ecosystem_specific: { urgency: 'low' } })).toBe(false)
})
