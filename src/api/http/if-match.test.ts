import { expect, test } from 'vitest'
import { requireMatch } from './if-match.ts'

test.each([
  [undefined, true],
  ['*', true],
  ['"7"', true],
  ['W/"7"', true],
  ['"6", "7"', true],
  ['"6"', false],
  ['7', false],
  ['', false],
])('If-Match %j with state 7: %s', (header, passes) => {
  const check = () => requireMatch({ headers: header === undefined ? {} : { 'if-match': header } }, 7, { by: 'ann' })
  if (passes) expect(check).not.toThrow()
  else expect(check).toThrow(expect.objectContaining({ code: 'changed_meanwhile', extra: { by: 'ann', etag: '"7"' } }))
})
