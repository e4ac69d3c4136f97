import { describe, expect, test } from 'vitest'
import { within } from '../../../test/within.ts'
import { createXmlReader } from './xml-reader.ts'

/** Events as text, with consecutive texts joined. */
function read(document: string, pieceLength = document.length): string {
  const events: string[] = []
  const reader = createXmlReader('the document', {
    open: (name, attributes) =>
      events.push(`<${[name, ...[...attributes].map(([key, value]) => `${key}=${value}`)].join(' ')}>`),
    text: (text) => events.push(text),
    close: (name) => events.push(`</${name}>`),
  })
  for (let at = 0; at < document.length; at += pieceLength || 1) reader.write(document.slice(at, at + pieceLength))
  reader.end()
  return events.join('')
}

describe('an XML document', () => {
  const documents: [string, string][] = [
    ['<a/>', '<a></a>'],
    ['<?xml version="1.0" encoding="UTF-8"?>\n<a>x</a>\n', '<a>x</a>'],
    ['<a><b c="1" d=\'2\'/>t</a>', '<a><b c=1 d=2></b>t</a>'],
    ['<a b="x > y">&lt;&amp;&gt;&quot;&apos;&#65;&#x1F600;</a>', '<a b=x > y><&>"\'A😀</a>'],
    ['<a b="&lt;&#10;"></a >', '<a b=<\n></a>'],
    ['<a><!-- <b> - & --><![CDATA[<&]]></a><!-- end -->', '<a><&</a>'],
    ['<r:a xmlns:r="u"><r:b/></r:a>', '<r:a xmlns:r=u><r:b></r:b></r:a>'],
    ['\ufeff<a>é</a>', '<a>é</a>'],
  ]
  test.each(documents)('%s is read, however it is cut', (document, events) => {
    for (const length of [document.length, 1, 2, 3, 7]) expect(read(document, length)).toBe(events)
  })

  test.each([
    ['<!DOCTYPE a><a/>', 'document type'],
    ['<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', 'document type'],
    ['<a><!ENTITY b "c"></a>', 'syntax'],
    ['<a>&b;</a>', 'undefined entity'],
    ['<a b="&c;"/>', 'undefined entity'],
    ['<a>&#0;</a>', 'character entity'],
    ['<a>&#xD800;</a>', 'character entity'],
    ['<a>&#x110000;</a>', 'character entity'],
    ['<a>a & b</a>', 'unclosed tag'],
    ['<a>a & b; c</a>', 'entity name'],
    ['<?xml version="1.1"?><a>&#1;</a>', 'character entity'],
    ['<a>\u0001</a>', 'disallowed character'],
    ['<a></b>', 'unexpected close tag'],
    ['</a>', 'unmatched closing tag'],
    ['<a>', 'unclosed tag'],
    ['<a', 'root element'],
    ['', 'root element'],
    ['<a/><b/>', 'only one root'],
    ['<a/>x', 'outside of root'],
    ['x<a/>', 'outside of root'],
    ['<a b="1" b="2"/>', 'duplicate attribute'],
    ['<a b=1/>', 'unquoted'],
    ['<a b/>', 'disallowed character'],
    ['<a b="<"/>', 'disallowed character'],
    ['<1/>', 'disallowed character'],
    ['<?xml version="1.0" encoding="UTF-16"?><a/>', 'UTF-8'],
    ['<a>'.repeat(17), 'deep'],
    [`<a b="${'x'.repeat(256 * 1024)}`, 'characters'],
    [`<!--${'x'.repeat(256 * 1024)}`, 'characters'],
    [`<a>${'x'.repeat(257 * 1024)}`, 'characters'],
    [`<?a ${'x'.repeat(256 * 1024)}`, 'characters'],
    [`<!DOCTYPE a [${'x'.repeat(256 * 1024)}`, 'characters'],
  ])('%.60s is refused', (document, reason) => {
    for (const length of [document.length, 5000])
      expect(() => read(document, length)).toThrow(
        expect.objectContaining({ message: expect.stringContaining(reason) }),
      )
  })

  test.each([
    ['quotes', `<a>${'<b c=">>>>"/>'.repeat(20_000)}</a>`],
    ['an open quote', `<a b="${'>'.repeat(200_000)}"/>`],
    ['ampersands', `<a>${'&amp;'.repeat(50_000)}</a>`],
    ['brackets', `<a>${'<![CDATA[]]>'.repeat(50_000)}</a>`],
  ])('with many %s is read in linear time', async (_, document) => {
    await within(20_000, () => read(document, 1000))
  })
})
