// `-` in place of arguments.
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readArguments } from './input.ts'
import type { Command } from './command.ts'

const COMMAND = { arguments: [{ name: 'PKG', many: true }, { name: 'ONE' }] } as unknown as Command

const read = async (values: Record<string, unknown>, text: string) => {
  await readArguments(COMMAND, values, Readable.from([text]))
  return values
}

test.each([
  [['-'], 'a\nb@1\n', ['a', 'b@1']],
  [['x', '-', 'y'], ' a \r\n\r\nb', ['x', 'a', 'b', 'y']],
  [['x'], 'a\n', ['x']],
])('%j with %j on standard input is %j', async (given, text, names) => {
  expect(await read({ PKG: given }, text)).toEqual({ PKG: names })
})

test('nothing on standard input is wrong use', async () => {
  await expect(read({ PKG: ['-'] }, '\n')).rejects.toThrow('standard input has no PKG')
})

test('where one argument is meant, it is its name', async () => {
  expect(await read({ ONE: '-' }, 'a')).toEqual({ ONE: '-' })
})
