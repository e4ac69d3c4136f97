// Which form of the Simple API clients get.
import { expect, test } from 'vitest'
import { formFor } from './accept.ts'

const JSON_1 = 'application/vnd.pypi.simple.v1+json'
const HTML_1 = 'application/vnd.pypi.simple.v1+html'
const HTML = 'text/html; charset=utf-8'

test.each([
  [undefined, HTML],
  ['', HTML],
  ['*/*', HTML],
  ['text/*', HTML],
  ['text/html', HTML],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', HTML],
  [JSON_1, JSON_1],
  [JSON_1.toUpperCase(), JSON_1],
  ['application/vnd.pypi.simple.latest+json', JSON_1],
  [`${JSON_1}, ${HTML_1}; q=0.1, text/html; q=0.01`, JSON_1],
  [`${JSON_1};q=0.2, ${HTML_1};q=0.9, text/html;q=0.01`, HTML_1],
  [`${JSON_1};q=0, text/html`, HTML],
  [`${JSON_1};q=0`, null],
  [`text/html;q=0.5, ${JSON_1};q=0.4`, HTML],
  [`${JSON_1}, ${HTML_1}, text/html`, JSON_1],
  ['application/json', null],
  ['*/*;q=0', null],
  [`${JSON_1};q=nonsense`, null],
  ['application/vnd.pypi.simple.v2+json', null],
])('%j gets %j', (accept, media) => expect(formFor(accept)?.media ?? null).toBe(media))
