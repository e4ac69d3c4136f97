import { expect, test } from 'vitest'
import { differences } from './differences.ts'

const MIRROR = { distribution: 'jammy', enabled: true, selection: { globs: ['a*'], keep_latest: 1 } }

test.each<[object, [string, unknown][]]>([
  [{}, []],
  [{ enabled: false, updated_at: 'today' }, [['enabled', false]]],
  [{ selection: { globs: ['b*'], keep_latest: 1 } }, [['globs', ['b*']]]],
  [{ selection: { globs: ['a*'], keep_latest: null } }, [['keep_latest', null]]],
  [{ selection: null }, [['selection', null]]],
  [{ upstream: { url: 'x' } }, [['upstream', { url: 'x' }]]],
])('%j', (change, expected) => {
  expect(differences({ ...MIRROR, ...change }, MIRROR)).toEqual(expected)
})
