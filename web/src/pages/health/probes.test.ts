import { expect, test } from 'vitest'
import { adviceOf, factsOf, isGood, nameOf, type Check } from './probes.ts'

test.each<[string, Check, string[]]>([
  [
    'a disk',
    { ok: true, path: '/repos', free_gb: 48.96, used_pct: 80.57 },
    ['Path: /repos', 'Free: 49 GB', 'Used: 81 %'],
  ],
  ['a clock', { ok: true, offset_seconds: -2.5 }, ['Offset: -2.5 s']],
  ['an age that is not known', { ok: true, db_age_seconds: null }, []],
  ['what the line says already', { ok: false, error: 'no answer', detail: 'x', message: 'y', status: 'down' }, []],
  ['lists and objects', { ok: true, jobs: [1], limits: { size: 1 } }, []],
  ['a switch', { ok: true, is_leader: false }, ['Is leader: no']],
])('the facts of %s', (_, check, facts) => {
  expect(factsOf(check)).toEqual(facts)
})

test.each<[Check, boolean | null]>([
  [{ ok: false, status: 'ok' }, false],
  [{ status: 'connected' }, true],
  [{ status: 'degraded' }, false],
  [{ total_manifests: 3 }, null],
])('%o is good: %s', (check, good) => {
  expect(isGood(check)).toBe(good)
})

test('a probe that this console does not know has its name in words, and no advice', () => {
  expect([nameOf('alembic'), nameOf('new_cve_probe'), adviceOf('new_cve_probe')]).toEqual([
    'Database: schema',
    'New CVE probe',
    undefined,
  ])
})
