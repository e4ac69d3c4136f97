// Which paths match a template with `{name+}`, with which parameters, and which paths are refused.
import { describe, expect, test } from 'vitest'
import { byLiterals, matcherOf, requirePlainPath, routerPath, segmentsOf, wideParams } from './paths.ts'

test.each<[string, string, object | null]>([
  ['/a/{x}', '/a/b', { x: 'b' }],
  ['/a/{x}', '/a/b/', { x: 'b' }],
  ['/a/{x}', '/a/b?c=/d', { x: 'b' }],
  ['/a/{x}', 'http://host:80/a/b', { x: 'b' }],
  ['/a/{x}', '/a//', null],
  ['/a/{x}', '/a/b/c', null],
  ['/a/{x}', '/%61/b', { x: 'b' }],
  ['/a/{x+}', '/a', null],
  ['/a/{x+}', '/a/', null],
  ['/a/{x+}', '/a/b', { x: 'b' }],
  ['/a/{x+}', '/a/b/c/', { x: 'b/c' }],
  ['/a/{x+}', '/a/b//c', { x: 'b//c' }],
  ['/a/{x+}', '/a/%2e%2e/c', { x: '../c' }],
  ['/a/{x+}', '/a/%252e/c', { x: '%2e/c' }],
  ['/a/{x+}', '/a/@s%2fn', { x: '@s/n' }],
  ['/a/{x+}/-/{f}', '/a/@s/n/-/n-1.tgz', { x: '@s/n', f: 'n-1.tgz' }],
  ['/a/{x+}/-/{f}', '/a/@s%2Fn/-/n-1.tgz', { x: '@s/n', f: 'n-1.tgz' }],
  ['/a/{x+}/-/{f}', '/a/-/f', null],
  ['/a/{x+}/-/{f}', '/a/n/-/', null],
  ['/a/{x+}/m/{f}', '/a/m/m/m/m', { x: 'm/m', f: 'm' }],
  ['/a/{r}/{x+}', '/a//x', null],
  ['/a/{x+}', '/a/%zz', null],
])('%s and %s', (template, path, params) => {
  const segments = segmentsOf(path)
  expect(segments && matcherOf(template)(segments)).toEqual(params)
})

test('a template has one parameter of several segments', () => {
  expect(() => matcherOf('/{a+}/x/{b+}')).toThrow('more than one')
  expect(routerPath('/v2/{repo}/{image+}/tags/{tag}')).toEqual({
    url: '/v2/:repo/*',
    constraints: { wide: '/v2/{repo}/{image+}/tags/{tag}' },
  })
  expect(routerPath('/a/{b}')).toEqual({ url: '/a/:b' })
})

test('the template with most literal segments wins', () => {
  const templates = ['/a/{x+}', '/a/{x+}/b/{y}', '/a/{x+}/b/c', '/a/{r}/{x+}']
  expect([...templates].sort(byLiterals)).toEqual(['/a/{x+}/b/c', '/a/{x+}/b/{y}', '/a/{r}/{x+}', '/a/{x+}'])
})

describe('what another program would read as another path is refused', () => {
  test.each<[string, boolean, string | null]>([
    ['/a/b/c', false, null],
    ['/a/...', false, null],
    ['/a/b%20c', false, null],
    ['/a/b%2fc', false, 'path: has an encoded slash'],
    ['/a/b%2Fc', true, null],
    ['/a/b%252fc', false, null],
    ['/a/../c', false, 'x: has a segment'],
    ['/a/b/%2e', false, 'x: has a segment'],
    ['/a/b/.%2E/c', false, 'x: has a segment'],
    ['/a/b%2f..%2fc', true, 'x: has a segment'],
    ['/a/b//c', false, 'x: has a segment'],
    ['/a/b%2f', true, 'x: has a segment'],
    ['/a/b%00c', false, 'x: has a backslash or a control'],
    ['/a/b%0ac', false, 'x: has a backslash or a control'],
    ['/a/b%5cc', false, 'x: has a backslash or a control'],
    ['/a/b?c=%2f..', false, null],
  ])('%s, encoded slashes kept: %s', (target, kept, refusal) => {
    const check = () => requirePlainPath(wideParams('/a/{x+}', target), target, kept)
    if (refusal === null) expect(check).not.toThrow()
    else expect(check).toThrow(refusal)
  })
})
