// What progress prints, and when: the test moves its clock.
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { createProgress, type Every, type Progress } from './progress.ts'
import { createTerminal } from './terminal.ts'

/** @param at kind of standard error */
function watched(at: 'terminal' | 'pipe', quiet = false) {
  let written = ''
  let now = 0
  const due = new Set<{ at: number; ms: number; work: () => void }>()
  const repeat: Every = (ms, work) => {
    const one = { at: now + ms, ms, work }
    due.add(one)
    return () => due.delete(one)
  }
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written += String(chunk)
      done()
    },
  })
  const stderr = Object.assign(stream, { isTTY: at === 'terminal', columns: 60 })
  const terminal = createTerminal({ stdin: process.stdin, stdout: stream, stderr }, { quiet, fields: null, env: {} })
  return {
    progress: createProgress(terminal, repeat),
    pass(seconds: number) {
      for (const end = now + seconds * 1000; now < end; now += 100)
        for (const one of due)
          if (one.at === now + 100) {
            one.at += one.ms
            one.work()
          }
    },
    /** the output since the last call */
    written() {
      const text = written
      written = ''
      return text
    },
    timers: () => due.size,
  }
}

type Watched = ReturnType<typeof watched>
type Case = [string, (progress: Progress, pass: Watched['pass']) => void, string[]]

const CASES: Case[] = [
  [
    'what is over within 30 s has a line at its start and one at its end',
    (progress, pass) => {
      const item = progress.begin('a.deb (noble)', 2_000_000)
      pass(29.9)
      item.end('published')
      pass(60)
    },
    ['a.deb (noble): sending 2.0 MB', 'a.deb (noble): published'],
  ],
  [
    'what takes longer says every 30 s how much was sent, then which step is running',
    (progress, pass) => {
      const item = progress.begin('a.deb (noble)', 1000)
      item.sent(339)
      pass(30)
      item.sent(1000)
      pass(30)
      item.step('Antivirus')
      pass(61)
      item.end('published')
    },
    [
      'a.deb (noble): sending 1.0 kB',
      'a.deb (noble): 33 % sent',
      'a.deb (noble): 100 % sent',
      'a.deb (noble): Antivirus',
      'a.deb (noble): Antivirus',
      'a.deb (noble): published',
    ],
  ],
  [
    'each file that is under way has its line, and what has ended has none',
    (progress, pass) => {
      const first = progress.begin('a.deb', 10)
      const second = progress.begin('b.deb', 0)
      second.step('waiting for a decision')
      pass(30)
      first.end('published')
      pass(30)
      second.end('rejected')
    },
    [
      'a.deb: sending 10 B',
      'b.deb: sending 0 B',
      'a.deb: 0 % sent',
      'b.deb: waiting for a decision',
      'a.deb: published',
      'b.deb: waiting for a decision',
      'b.deb: rejected',
    ],
  ],
  [
    'a second try begins again',
    (progress, pass) => {
      const item = progress.begin('a.deb', 100)
      item.sent(90)
      progress.note('the connection broke; trying again in 1 s')
      item.sent(0)
      pass(30)
      item.end('failed')
    },
    ['a.deb: sending 100 B', 'the connection broke; trying again in 1 s', 'a.deb: 0 % sent', 'a.deb: failed'],
  ],
  [
    'control characters of names and steps reach no terminal',
    (progress, pass) => {
      const item = progress.begin('a\u001b[2J.deb', 1)
      item.step('one\ntwo')
      pass(30)
      item.end('\u0007failed')
    },
    ['a [2J.deb: sending 1 B', 'a [2J.deb: one two', 'a [2J.deb:  failed'],
  ],
]

test.each(CASES)('without a terminal: %s', (_, work, lines) => {
  const { progress, pass, written, timers } = watched('pipe')
  work(progress, pass)
  expect(written().split('\n')).toEqual([...lines, ''])
  progress.close()
  expect(timers()).toBe(0)
})

test.each(CASES)('with --quiet nothing: %s', (_, work) => {
  for (const at of ['pipe', 'terminal'] as const) {
    const { progress, pass, written, timers } = watched(at, true)
    work(progress, pass)
    expect([written(), timers()]).toEqual(['', 0])
  }
})

test('on a terminal a bar is drawn again ten times a second, and is gone at the end', () => {
  const { progress, pass, written, timers } = watched('terminal')
  const item = progress.begin('a.deb', 1000)
  item.sent(500)
  written()
  pass(0.1)
  expect(written()).toBe(`\u001b[1A\u001b[Ja.deb  [${'#'.repeat(12)}${' '.repeat(12)}]  50 %  500 B of 1.0 kB\n`)
  item.sent(1000)
  item.step('Antivirus')
  pass(0.1)
  expect(written()).toBe('\u001b[1A\u001b[Ja.deb  Antivirus …\n')
  item.end('published')
  progress.close()
  expect([written(), timers()]).toEqual(['\u001b[1A\u001b[Ja.deb: published\n', 0])
})
