import { describe, expect, test } from 'vitest'
import { isProblem } from './problem.ts'
import { requireAction, requireAllInside, requireInside, requireNarrower, type Scopes, type Target } from './scopes.ts'

/** `ok`, or the sentence that refuses. */
function said(check: () => void): string {
  try {
    check()
    return 'ok'
  } catch (error) {
    if (!isProblem(error, 'forbidden')) throw error
    return error.detail.replace('this token may not do this: ', '')
  }
}

test.each<[Scopes, string]>([
  [{}, 'ok'],
  [{ names: ['a'] }, 'ok'],
  [{ actions: ['upload'] }, 'ok'],
  [{ actions: ['read', 'import'] }, 'its scopes allow read, import, and this is upload'],
])('%j uploading', (scopes, expected) => {
  expect(said(() => requireAction(scopes, 'upload'))).toBe(expected)
})

test.each<[Scopes, Target, string, string]>([
  [{}, {}, 'ok', 'ok'],
  [{ actions: ['delete'] }, {}, 'ok', 'ok'],
  [{ distributions: ['one'] }, { distribution: 'one' }, 'ok', 'ok'],
  [{ distributions: ['one'] }, { distribution: 'One' }, 'this is One', 'this is One'],
  [{ distributions: ['one'] }, { name: 'x' }, 'ok', 'not limited to one'],
  [{ distributions: ['one', 'two'], names: ['lib*'] }, { distribution: 'two', name: 'libx' }, 'ok', 'ok'],
  [{ distributions: ['one', 'two'], names: ['lib*'] }, { distribution: 'two', name: 'x' }, 'this is x', 'this is x'],
  [{ names: ['lib*', 'own'] }, { name: 'Own' }, 'this is Own', 'this is Own'],
  [{ names: ['l?b'] }, { name: 'lib' }, 'ok', 'ok'],
  [{ formats: ['f'] }, { distribution: 'one', format: 'g' }, 'this is g', 'this is g'],
  [{ formats: ['f'] }, { distribution: 'one' }, 'ok', 'not limited to one'],
])('%j and a change of %j: %s so far, %s in the end', (scopes, target, soFar, atTheEnd) => {
  expect(said(() => requireInside(scopes, target))).toContain(soFar)
  expect(said(() => requireAllInside(scopes, [target]))).toContain(atTheEnd)
})

test('every package of a request counts, and a request without any is not limited', () => {
  const scopes = { names: ['a*'] }
  expect(said(() => requireAllInside(scopes, [{ name: 'ab' }, { name: 'b' }]))).toContain('this is b')
  expect(said(() => requireAllInside(scopes, []))).toContain('not limited')
})

describe('a token of the scopes', () => {
  test.each<[Scopes, Scopes | null, boolean]>([
    [{}, null, true],
    [{ actions: ['manage', 'read'] }, null, false],
    [{ actions: ['manage', 'read'] }, { actions: ['read'] }, true],
    [{ actions: ['manage', 'read'] }, { actions: ['read'], names: ['a'] }, true],
    [{ actions: ['manage', 'read'] }, { names: ['a'] }, false],
    [{ actions: ['manage', 'read'] }, { actions: ['read', 'upload'] }, false],
    [{ names: ['lib*'] }, { names: ['libc', 'lib*'] }, true],
    [{ names: ['lib*'] }, { names: ['lib?'] }, false],
    [{ names: ['lib*'] }, { names: ['*'] }, false],
    [{ distributions: ['one'], formats: ['f'] }, { distributions: ['one'] }, false],
  ])('%j creates %j: %s', (outer, inner, allowed) => {
    expect(said(() => requireNarrower(inner, outer)) === 'ok').toBe(allowed)
  })
})
