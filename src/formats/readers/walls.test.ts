// A reader that hostile bytes have taken over tries forbidden things (THREATS.md, "Readers").
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptedReaders } from './fixture.ts'
import type { Message } from './messages.ts'
import { once } from './pool.ts'

/** From this version on the permission model covers the network. */
const HAS_NETWORK_WALL = Number(process.versions.node.split('.')[0]) >= 26

let outside: string
let inside: string
let connections = 0
const server = createServer((_, response) => response.end('secret')).on('connection', () => connections++)
beforeAll(async () => {
  outside = mkdtempSync(join(tmpdir(), 'outside-'))
  inside = mkdtempSync(join(tmpdir(), 'inside-'))
  writeFileSync(join(outside, 'secret'), 'secret')
  writeFileSync(join(inside, 'package'), 'package')
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve))
  for (const path of [outside, inside]) rmSync(path, { recursive: true })
})

/** What became of an attempt: the code of its error, or `done` and what it gave. */
async function attempt(code: string): Promise<string> {
  const readers = scriptedReaders(
    `try { send({ kind: 'done', text: String(await (async () => { ${code} })()) }) }
     catch (error) { send({ kind: 'failed', text: String(error.code ?? error.cause?.code ?? error.name) }) }`,
    { readable: inside },
  )
  try {
    const { kind, text } = await once<Message & { text: string }>(readers, (lease) => lease.post({ kind: 'try' }))
    return `${kind}: ${text}`
  } finally {
    await readers.close()
  }
}

const fs = (call: string) => `const fs = await import('node:fs'); return ${call}`
const DENIED = 'failed: ERR_ACCESS_DENIED'

describe('a reader may', () => {
  it('read files of its directory', async () => {
    expect(await attempt(fs(`fs.readFileSync('${inside}/package', 'utf8')`))).toBe('done: package')
  })

  it('read them where the directory is named by a link, as REPOS_DIR may be', async () => {
    const link = join(outside, 'link')
    symlinkSync(inside, link)
    const readers = scriptedReaders(
      `const fs = await import('node:fs'); send({ kind: 'done', text: fs.readFileSync('${link}/package', 'utf8') })`,
      { readable: link },
    )
    try {
      expect(await once(readers, (lease) => lease.post({ kind: 'try' }))).toMatchObject({ text: 'package' })
    } finally {
      await readers.close()
      rmSync(link)
    }
  })

  it.each([
    ['read another file', () => `fs.readFileSync('${outside}/secret')`],
    ['read it by another name', () => `fs.readFileSync('${inside}/../${outside.split('/').at(-1)}/secret')`],
    ['read passwords of the system', () => `fs.readFileSync('/etc/passwd')`],
    ['read the environment of its own process', () => `fs.readFileSync('/proc/self/environ')`],
    ['read that of its parent', () => 'fs.readFileSync(`/proc/${process.ppid}/environ`)'],
    ['read in turns', () => `await fs.promises.readFile('${outside}/secret')`],
    ['list a directory', () => `fs.readdirSync('${outside}')`],
    ['ask what a file is', () => `fs.statSync('${outside}/secret').size`],
    ['write a file', () => `fs.writeFileSync('${inside}/new', 'x')`],
    ['write elsewhere', () => `fs.writeFileSync('${outside}/new', 'x')`],
    ['change a package', () => `fs.openSync('${inside}/package', 'r+')`],
    ['remove a package', () => `fs.unlinkSync('${inside}/package')`],
    ['rename a package', () => `fs.renameSync('${inside}/package', '${inside}/other')`],
    ['make a link', () => `fs.symlinkSync('${outside}', '${inside}/link')`],
    ['make a hard link', () => `fs.linkSync('${inside}/package', '${inside}/link')`],
    ['make a directory', () => `fs.mkdirSync('${inside}/directory')`],
    ['change modes', () => `fs.chmodSync('${inside}/package', 0o777)`],
  ])('not %s', async (_, call) => {
    expect(await attempt(fs(call()))).toBe(DENIED)
    expect(readdirSync(inside)).toEqual(['package'])
    expect(readdirSync(outside)).toEqual(['secret'])
    expect(readFileSync(join(inside, 'package'), 'utf8')).toBe('package')
  })

  it.each([
    ['start a program', "return (await import('node:child_process')).execFileSync('/bin/id')", DENIED],
    ['start Node', "(await import('node:child_process')).fork(process.argv[1])", DENIED],
    [
      'start a thread',
      "const { Worker } = await import('node:worker_threads'); new Worker('', { eval: true })",
      DENIED,
    ],
    [
      'load an add-on',
      "process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6')",
      'failed: ERR_DLOPEN_DISABLED',
    ],
    ['use WASI', "const { WASI } = await import('node:wasi'); new WASI({ version: 'preview1' })", DENIED],
    ['open a database', "await import('node:sqlite')", 'failed: ERR_UNKNOWN_BUILTIN_MODULE'],
    ['open a debugger', "(await import('node:inspector')).open(0); return 1", DENIED],
    ['debug itself', "new (await import('node:inspector')).Session().connect(); return 1", DENIED],
    ['write a heap snapshot', "return (await import('node:v8')).writeHeapSnapshot('/tmp/snapshot')", DENIED],
    ['write a report', "return process.report.writeReport('/tmp/report')", DENIED],
    ['make code of text', "return new Function('return 1')()", 'failed: EvalError'],
  ])('not %s', async (_, code, outcome) => {
    expect(await attempt(code)).toBe(outcome)
  })

  it.skipIf(!HAS_NETWORK_WALL).each([
    ['connect', `(await import('node:net')).connect(PORT, '127.0.0.1')`],
    ['connect to a socket of the machine', `(await import('node:net')).connect('/run/some.sock')`],
    ['fetch', `await fetch('http://127.0.0.1:PORT')`],
    ['resolve a name', `await (await import('node:dns')).promises.lookup('localhost')`],
    ['ask a name server', `await (await import('node:dns')).promises.resolve('example.org')`],
    ['send datagrams', `(await import('node:dgram')).createSocket('udp4').send('x', PORT, '127.0.0.1')`],
    ['listen', `(await import('node:net')).createServer().listen(0)`],
  ])('not %s (Node 26)', async (_, code) => {
    const { port } = server.address() as AddressInfo
    const thrown = `await new Promise((resolve, reject) => { process.on('uncaughtException', reject)
      ;(async () => { const one = ${code.replace('PORT', String(port))}; one?.on?.('error', reject); setTimeout(resolve, 500) })().catch(reject) })`
    expect(await attempt(thrown)).toBe(DENIED)
    expect(connections).toBe(0)
  })

  it('see no environment', async () => {
    expect(await attempt('return JSON.stringify(process.env)')).toBe('done: {}')
  })
})

describe.skipIf(!existsSync('/proc/self/limits'))('the system', () => {
  it('gives a reader no files of the service, no core dumps and a group of its own, and ends it first when memory runs out', async () => {
    const readers = scriptedReaders("send({ kind: 'pid', pid: process.pid })")
    const { pid } = await once<Message & { pid: number }>(readers, (lease) => lease.post({ kind: 'try' }))
    const names = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
    expect(names.filter((name) => name.startsWith('/') && name !== '/dev/null')).toEqual([])

    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8')
    expect(limits).toMatch(/Max core file size +0 +0 /)
    expect(limits).toMatch(/Max file size +0 +0 /)
    expect(limits).toMatch(/Max cpu time +1800 +1800 /)
    expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim()).toBe('1000')
    expect(execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' }).trim()).toBe(String(pid))
    await readers.close()
  })
})
