// Cells of CSV.
import { expect, test } from 'vitest'
import { csvLine } from './csv.ts'

test.each([
  [['a', 1, true, null], 'a,1,true,\r\n'],
  [['a,b', 'say "x"', 'two\nlines'], '"a,b","say ""x""","two\nlines"\r\n'],
  [['=1+1', '+1', '-1', '@x', -1], "'=1+1,'+1,'-1,'@x,-1\r\n"],
  [['=a,b'], `"'=a,b"\r\n`],
])('%j is written as %j', (values, line) => {
  expect(csvLine(values)).toBe(line)
})
