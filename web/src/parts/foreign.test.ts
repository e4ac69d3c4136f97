import { isValidElement, type ReactNode } from 'react'
import { expect, test } from 'vitest'
import { shown } from './foreign.tsx'

const wordsOf = (node: ReactNode): string =>
  [node]
    .flat()
    .map((part) => (isValidElement<{ children: string }>(part) ? `[${part.props.children}]` : (part as string)))
    .join('')

test.each([
  ['curl\u202egpj.exe', 'curl[U+202E]gpj.exe'],
  ['pay\u200bpal', 'pay[U+200B]pal'],
  ['pay\u200dpal', 'pay[U+200D]pal'],
  ['\u200dx', '[U+200D]x'],
  ['so\u00adft', 'so[U+00AD]ft'],
  ['\u001b[31mred', '[U+001B][31mred'],
  ['a\rb', 'a[U+000D]b'],
  ['a\u2028b', 'a[U+2028]b'],
  ['tag\u{e0041}', 'tag[U+E0041]'],
  ['\u3164', '[U+3164]'],
])('%j is shown as "%s"', (text, words) => {
  expect(wordsOf(shown(text))).toBe(words)
})

test.each(['plain', 'two\r\nlines\tand a tab', 'می\u200cخواهم', '👩\u200d💻', 'Łukasz Žižek', ''])(
  '%j is shown as it is',
  (text) => {
    expect(shown(text)).toBe(text)
  },
)
