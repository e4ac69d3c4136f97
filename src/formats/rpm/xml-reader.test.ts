import { describe, expect, test } from 'vitest'
import { within } from '../../../test/within.ts'
import { createXmlReader } from './xml-reader.ts'

/** Events as text, texts joined. */
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
    ['<a><!-- <b> -- & --><![CDATA[<&]]></a><!-- end -->', '<a><&</a>'],
    ['<r:a xmlns:r="u"><r:b/></r:a>', '<r:a xmlns:r=u><r:b></r:b></r:a>'],
    ['\ufeff<a>é</a>', '<a>é</a>'],
  ]
  test.each(documents)('%s is read, however it is cut', (document, events) => {
    for (const length of [document.length, 1, 2, 3, 7]) expect(read(document, length)).toBe(events)
  })

  test.each([
    ['<!DOCTYPE a><a/>', 'document type'],
    ['<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', 'document type'],
    ['<a><!ENTITY b "c"></a>', 'document type'],
    ['<a>&b;</a>', 'entity b'],
    ['<a b="&c;"/>', 'entity c'],
    ['<a>&#0;</a>', 'entity #0'],
    ['<a>&#xD800;</a>', 'entity #xD800'],
    ['<a>&#x110000;</a>', 'entity #x110000'],
    ['<a>a & b</a>', 'ampersand'],
    ['<a>\u0001</a>', 'control character'],
    ['<a></b>', 'not open'],
    ['</a>', 'not open'],
    ['<a>', 'not complete'],
    ['<a', 'not complete'],
    ['', 'not complete'],
    ['<a/><b/>', 'second root'],
    ['<a/>x', 'outside its root'],
    ['x<a/>', 'outside its root'],
    ['<a b="1" b="2"/>', 'two attributes'],
    ['<a b=1/>', 'cannot be read'],
    ['<a b/>', 'cannot be read'],
    ['<a b="<"/>', 'cannot be read'],
    ['<1/>', 'cannot be read'],
    ['<?xml version="1.0" encoding="UTF-16"?><a/>', 'UTF-8'],
    ['<a>'.repeat(17), 'deep'],
    [`<a b="${'x'.repeat(256 * 1024)}`, 'characters'],
    [`<!--${'x'.repeat(256 * 1024)}`, 'characters'],
  ])('%.60s is refused', (document, reason) => {
    for (const length of [document.length, 5000])
      expect(() => read(document, length)).toThrow(
        expect.objectContaining({ message: expect.stringContaining(reason) }),
      )
  })

  test.each([
    ['quotes', `<a>${'<b c=">>>>"/>'.repeat(20_000)}</a>`],
    ['an open quote', `<a b="${'>'.repeat(200_000)}"/>`],
    ['ampersands', `<a>${'&amp;'.repeat(100_000)}</a>`],
    ['brackets', `<a>${'<![CDATA[]]>'.repeat(50_000)}</a>`],
  ])('with many %s is read in linear time', async (_, document) => {
    await within(20_000, () => read(document, 1000))
  })
})
