// The lines of --fields.
import { expect, test } from 'vitest'
import { fieldNames, fieldsOf } from './fields.ts'

const ROW = {
  name: 'hello',
  size: 3,
  served: true,
  sla: { status: 'due' },
  by: null,
  tags: ['a', 'b'],
  text: 'a\tb\nc',
}

test.each([
  ['name', 'hello'],
  ['name,size,served', 'hello\t3\ttrue'],
  ['sla.status', 'due'],
  ['by', ''],
  ['by.name', ''],
  ['tags', '["a","b"]'],
  ['tags.1', 'b'],
  ['text', 'a b c'],
  [' name , size ', 'hello\t3'],
])('%s is %j', (names, line) => {
  expect(fieldsOf(ROW, fieldNames(names))).toBe(line)
})

test('a name that a later row does not have is empty there', () => {
  expect(fieldsOf({}, ['name', 'sla.status'], false)).toBe('\t')
})

test.each([
  ['nmae', 'there is no nmae; there are name, size'],
  ['sla.state', 'there is no sla.state; there are status'],
  ['name.first', 'there is no name.first'],
  ['name,', 'names with commas'],
  ['', 'names with commas'],
])('%s is refused: %s', (names, text) => {
  expect(() => fieldsOf(ROW, fieldNames(names))).toThrow(text)
})
