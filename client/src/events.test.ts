// The reader of server-sent events, with the cases of the standard, in pieces of every size.
import { expect, test } from 'vitest'
import { createEventParser } from './events.ts'

test.each([
  ['one event', 'event: step\ndata: {"a":1}\n\n', [['step', { a: 1 }, '']]],
  ['without a name', 'data: done\n\n', [['message', 'done', '']]],
  ['several lines of data', 'data: one\ndata: two\n\n', [['message', 'one\ntwo', '']]],
  [
    'all line ends',
    'data: a\r\n\r\ndata: b\r\rdata: c\n\n',
    [
      ['message', 'a', ''],
      ['message', 'b', ''],
      ['message', 'c', ''],
    ],
  ],
  ['a comment and an unknown field', ': ping\nsize: 3\ndata: a\n\n', [['message', 'a', '']]],
  [
    'an id that stays',
    'id: 7\ndata: a\n\ndata: b\n\n',
    [
      ['message', 'a', '7'],
      ['message', 'b', '7'],
    ],
  ],
  ['an event without data', 'event: empty\n\ndata: a\n\n', [['message', 'a', '']]],
  ['one that is not complete', 'data: a\n', []],
  ['a byte order mark, and no space', '\uFEFFdata:a\n\n', [['message', 'a', '']]],
])('%s', (_, text, wanted) => {
  for (let size = 1; size <= text.length; size++) {
    const parser = createEventParser()
    const events = []
    for (let i = 0; i < text.length; i += size) events.push(...parser.push(text.slice(i, i + size)))
    expect([size, events.map(({ event, data, id }) => [event, data, id])]).toEqual([size, wanted])
  }
})

test('it keeps the last id of an earlier connection and the pause that the server asks for', () => {
  const parser = createEventParser('41')
  expect(parser.push('retry: 3000\ndata: a\n\n')).toEqual([{ event: 'message', data: 'a', id: '41' }])
  expect([parser.lastId, parser.retryMs]).toEqual(['41', 3000])
})
