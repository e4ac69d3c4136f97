// The parser, and what a new user reads in the help of each command.
import { expect, test } from 'vitest'
import { shown } from './command.ts'
import { parse, withBareFlags } from './parser.ts'
import { GROUPS } from './groups.ts'
import { TABLE } from './table.ts'

function parsed(...argv: string[]) {
  let text = ''
  const write = (piece: string) => void (text += piece)
  try {
    return { ...parse(argv, TABLE, '1', { out: write, err: write }), text }
  } catch {
    return { text, failed: true }
  }
}

test('a flag with an optional value takes it after = only, and nothing behind --', () => {
  expect(withBareFlags(['upload', '--wait', 'a.deb', '--wait=2h', '--', '--wait'], TABLE)).toEqual([
    'upload',
    '--wait=30m',
    'a.deb',
    '--wait=2h',
    '--',
    '--wait',
  ])
})

test('flags of every command go before and after it', () => {
  for (const argv of [
    ['--json', 'whoami'],
    ['whoami', '--json'],
  ])
    expect(parsed(...argv)).toMatchObject({ values: { json: true } })
  expect(parsed('upload', 'a', 'b', '-d', 'x', '-d', 'y')).toMatchObject({
    values: { FILES: ['a', 'b'], distribution: ['x', 'y'] },
  })
  expect(parsed('review', 'approve', 'a', '1', '--reason', 'r', '--cve', 'A', '--cve', 'B')).toMatchObject({
    values: { cve: ['A', 'B'] },
  })
})

test('a flag that takes something away is on when it is given', () => {
  expect(parsed('machine', 'change', '7', '--no-tags')).toMatchObject({ values: { 'no-tags': true } })
  expect(parsed('machine', 'change', '7')).toMatchObject({ values: { 'no-tags': false } })
})

test.each([
  ['upload'],
  ['nothing'],
  ['review'],
  ['review', 'nothing'],
  ['promote', 'a'],
  ['completion', 'cmd'],
  ['whoami', 'more'],
  ['whoami', '--token', 'x'],
])('wrong use is refused: %s', (...argv) => {
  expect(parsed(...argv).failed).toBe(true)
})

test.each(TABLE.map((command) => [command.name, command] as const))(
  '%s --help says what it is for and names every flag and argument',
  (name, command) => {
    const { text } = parsed(...name.split(' '), '--help')
    expect(text.replace(/\s+/g, ' ')).toContain(command.summary)
    for (const { name: flag, summary } of shown(command.flags))
      expect([flag, text.replace(/\s+/g, ' ')]).toEqual([flag, expect.stringContaining(summary)])
    for (const { name: argument } of shown(command.arguments)) expect(text).toContain(argument)
  },
)

test('an older spelling works, and help does not show it', () => {
  expect(parsed('show', 'hello', '1.0')).toMatchObject({ values: { 'PKG[@VERSION]': 'hello', VERSION: '1.0' } })
  expect(parsed('deps', 'hello', '--version-of', '1.0')).toMatchObject({ values: { 'version-of': '1.0' } })
  expect(parsed('show', '--help').text).toContain('show [options] <PKG[@VERSION]>\n')
  expect(parsed('deps', '--help').text).not.toContain('version-of')
  expect(parsed('--help').text).toMatch(/^ {2}show <PKG\[@VERSION\]> {2,}What/m)
})

test('every group has words, and every word of two a group', () => {
  const used = new Set(TABLE.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0]))
  expect([...used].sort()).toEqual(Object.keys(GROUPS).sort())
})
