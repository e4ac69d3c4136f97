// Programs that fail in various ways: each is a small shell script.
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findProgram } from './find.ts'
import { createProgram, ProgramFailed, type Run } from './run.ts'

let directory: string
const SYSTEM = '/usr/bin:/bin'
const MINUTES = 600_000

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'external-')))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

async function script(name: string, body: string): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, `#!/bin/sh\n${body}\n`)
  await chmod(path, 0o755)
  return path
}

async function run(body: string, more: Partial<Run> = {}, atOnce?: number): Promise<string> {
  const path = await script(`program-${Math.random().toString(36).slice(2)}`, body)
  return createProgram({
    name: 'scanner',
    path,
    env: { PATH: SYSTEM, GIVEN: 'yes' },
    directory: async () => directory,
    ...(atOnce ? { atOnce } : {}),
  }).run({ args: [], timeoutMs: MINUTES, ...more })
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: ProgramFailed) => error,
  )

describe('a program', () => {
  test('reads its stdin, and its stdout is returned', async () => {
    expect(await run('cat; echo " and $1"', { input: 'what was given', args: ['more'] })).toBe(
      'what was given and more\n',
    )
  })

  test('works in its own directory, with no environment but the one meant for it', async () => {
    const said = await run('pwd; env')
    expect(said).toContain(directory)
    expect(said).toContain('GIVEN=yes')
    expect(said).not.toContain('HOME=')
    expect(said).not.toContain('VITEST')
  })

  test('that exits with an error fails, even if it wrote output', async () => {
    const error = await failure(run('echo "{}"; printf "\\033[31mfirst\\033[0m\\nthe database is gone\\n" >&2; exit 1'))
    expect(error).toMatchObject({
      name: 'ProgramFailed',
      reason: 'failed',
      message: 'scanner ended with code 1: the database is gone',
      said: 'first\nthe database is gone',
    })
  })

  test('is quoted with the reason of its failure when that is not the last line', async () => {
    const path = await script(
      'talkative',
      `printf 'FATAL\\n  - the database is gone:\\n    somewhere.go:12\\n' >&2; exit 1`,
    )
    const program = createProgram({
      name: 'scanner',
      path,
      env: { PATH: SYSTEM },
      directory: async () => directory,
      why: (said) => /^ +- (.*):$/m.exec(said)?.[1],
    })
    expect(await failure(program.run({ args: [], timeoutMs: MINUTES }))).toMatchObject({
      message: 'scanner ended with code 1: the database is gone',
    })
  })

  test.each([
    ['the reason', 'fatal error: fault\\n[signal SIGBUS]\\n\\n', 'fatal error: fault'],
    ['a word, where the reason is no longer kept,', '', 'it crashed'],
  ])('written in Go that crashes is quoted with %s and not with a line of its stack', async (_, first, reason) => {
    const stack = 'goroutine 1 [running]:\\nmain.main()\\n\\tgithub.com/someone/scanner/signal.go:23 +0xe5\\n'
    expect(await failure(run(`printf '${first}${stack}' >&2; exit 2`))).toMatchObject({
      message: `scanner ended with code 2: ${reason}`,
    })
  })

  test('that crashes fails', async () => {
    expect(await failure(run('echo "{}"; kill -SEGV $$'))).toMatchObject({
      reason: 'failed',
      message: expect.stringContaining('SIGSEGV'),
    })
  })

  test('that fails once is run again only if that is asked for', async () => {
    const flag = join(directory, `flag-${Math.random()}`)
    const body = `test -e ${flag} && echo fine && exit 0; touch ${flag}; exit 1`
    expect(await run(body, { againAfterMs: 10 })).toBe('fine\n')
    await rm(flag)
    expect(await failure(run(body))).toMatchObject({ reason: 'failed' })
    expect(await failure(run('exit 1', { againAfterMs: 10 }))).toMatchObject({ reason: 'failed' })
  })

  test('that is too slow is killed with its children', async () => {
    const mark = join(directory, 'started')
    const error = await failure(run(`sleep 3600 & echo $! > ${mark}; wait`, { timeoutMs: 10_000 }))
    expect(error).toMatchObject({ reason: 'timeout' })
    const pid = Number(await readFile(mark, 'utf8'))
    await expect.poll(() => alive(pid)).toBe(false)
  })

  test('that writes too much is killed', async () => {
    expect(await failure(run('yes', { maxBytes: 100_000 }))).toMatchObject({ reason: 'too_much' })
  })

  test('that writes endlessly to stderr costs no memory', async () => {
    expect(await run('head -c 20000000 /dev/zero >&2; echo fine')).toBe('fine\n')
  })

  test('that exits without reading its stdin is judged by its exit code', async () => {
    expect(await run('echo fine', { input: 'x'.repeat(1 << 20) })).toBe('fine\n')
  })

  test('that is missing fails with another reason than one that exits with an error', async () => {
    const program = createProgram({
      name: 'scanner',
      path: join(directory, 'none'),
      env: {},
      directory: async () => directory,
    })
    expect(await failure(program.run({ args: [], timeoutMs: MINUTES }))).toMatchObject({
      reason: 'missing',
      message: 'there is no program scanner here',
    })
  })

  test('reports its progress line by line', async () => {
    const lines: string[] = []
    await run('printf "one\\ntw" >&2; printf "o\\n\\n" >&2', { progress: (line) => void lines.push(line) })
    expect(lines).toEqual(['one', 'two'])
  })

  test('runs a limited number of times at the same time, and every caller gets a turn', async () => {
    // The first one waits for the second.
    const path = await script(
      'counted',
      [
        `n=$(mktemp ${directory}/running.XXXXXX); touch ${directory}/began.$$`,
        `until [ $(ls ${directory}/began.* | wc -l) -gt 1 ]; do sleep 0.02; done`,
        `ls ${directory}/running.* | wc -l; sleep 0.2; rm $n`,
      ].join('\n'),
    )
    const program = createProgram({
      name: 'scanner',
      path,
      env: { PATH: SYSTEM },
      directory: async () => directory,
      atOnce: 2,
    })
    const seen = await Promise.all(Array.from({ length: 6 }, () => program.run({ args: [], timeoutMs: MINUTES })))
    expect(Math.max(...seen.map(Number))).toBe(2)
  })
})

describe('finding a program', () => {
  test('takes the first executable in PATH, and never one in a relative directory', async () => {
    const path = await script('grype', 'true')
    await writeFile(join(directory, 'data'), 'not a program')
    expect(await findProgram('grype', `/nowhere:${directory}`)).toBe(path)
    expect(await findProgram('grype', '.:bin')).toBe(null)
    expect(await findProgram('data', directory)).toBe(null)
    expect(await findProgram(path, '')).toBe(path)
    expect(await findProgram(directory, '')).toBe(null)
  })
})

/** What was ended may wait for init to take note of it. */
async function alive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat !== '' && !/\) [ZX] /.test(stat)
}
