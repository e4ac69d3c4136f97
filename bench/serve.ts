// Compares `npm run serve` of one and of two processes with nginx: the same tree, access logs on all, 64 connections of wrk,
// in turns. Usage: npx node bench/serve.ts [--processes 1,2] [--seconds 5] [--rounds 3] [--connections 64] [--workers auto] [--only name]. Needs nginx and wrk.
// On a machine with other work, the CPU time per request varies less than the rate.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { build } from '../bin/build.mjs'
import { SERVICE_ENV } from '../bin/service-env.mjs'
import { accepts, freePort } from '../test/ports.ts'
import { median } from './database.ts'

const PROJECT = resolve(import.meta.dirname, '..')
const SMALL_FILES = 1000
const LARGE_BYTES = 16 << 20

const REPORT = `done = function(summary, latency)
  local errors = summary.errors.status + summary.errors.read + summary.errors.connect
  io.write(string.format('RESULT %d %d %f %d\\n', summary.requests, summary.duration, latency:percentile(99), errors))
end`

interface Server {
  name: string
  port: number
  /** ids of all its processes */
  pids(): number[]
  stop(): Promise<void>
}

interface Load {
  seconds: string
  connections: string
}

/** Means of one run of wrk. */
interface Run {
  /** requests per second */
  rate: number
  /** latency in ms */
  p99: number
  /** processor time for each request in microseconds */
  cpu: number
}

interface Scenario {
  name: string
  /** files for wrk, one for each server */
  scripts: string[]
}

await compare()

async function compare(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '64' },
      workers: { type: 'string', default: 'auto' },
      processes: { type: 'string', default: '1,2' },
      only: { type: 'string' },
    },
  })
  const dir = mkdtempSync(join(tmpdir(), 'bench-serve-'))
  const servers: Server[] = []
  try {
    await build()
    const tree = makeTree(join(dir, 'repos'))
    servers.push(await startNginx(dir, tree, values.workers))
    for (const count of values.processes.split(',')) servers.push(await startOurs(tree, count))
    const scenarios = await describeScenarios(dir, servers)
    const chosen = scenarios.filter(({ name }) => !values.only || name.includes(values.only))

    console.log(`${values.connections} connections, ${values.rounds} rounds of ${values.seconds} s, medians`)
    console.log(`Node ${process.version}, nginx worker_processes ${values.workers}, load ${loadavg()[0]!.toFixed(1)}`)
    printRow('scenario', 'server', 'req/s', 'of nginx', 'p99 ms', 'CPU us/request', 'of nginx')
    for (const scenario of chosen) {
      const results = servers.map((): Run[] => [])
      // One warm-up round for each server, for compiled code and caches.
      for (const [i, server] of servers.entries()) runWrk(server, scenario.scripts[i]!, values)
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const [i, server] of servers.entries()) results[i]!.push(runWrk(server, scenario.scripts[i]!, values))
      }
      const medians = results.map((runs) => ({
        rate: median(runs.map(({ rate }) => rate)),
        p99: median(runs.map(({ p99 }) => p99)),
        cpu: median(runs.map(({ cpu }) => cpu)),
      }))
      const [nginx] = medians as [Run]
      for (const [i, { rate, p99, cpu }] of medians.entries()) {
        const ratios = [(rate / nginx.rate).toFixed(2), (cpu / nginx.cpu).toFixed(2)] as const
        const name = i === 0 ? scenario.name : ''
        printRow(name, servers[i]!.name, rate.toFixed(0), ratios[0], p99.toFixed(0), cpu.toFixed(0), ratios[1])
      }
    }
    for (const { name, pids } of servers) {
      const memory = pids().reduce((sum, pid) => sum + peakMemory(pid), 0)
      console.log(`peak memory of ${name}: ${memory.toFixed(0)} MiB in all its processes`)
    }
  } finally {
    for (const server of servers) await server.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

function printRow(name: string, ...cells: string[]): void {
  const widths = [14, 10, 9, 8, 16, 9]
  console.log(name.padEnd(34), ...cells.map((cell, i) => cell.padStart(widths[i]!)))
}

function makeTree(repos: string): string {
  const base = join(repos, '.generations/deb/jammy')
  const index = join(base, 'r1-bench/main/binary-amd64')
  for (const path of [index, join(base, 'pool'), join(repos, 'dists'), join(repos, 'logs')])
    mkdirSync(path, { recursive: true })
  for (let i = 0; i < SMALL_FILES; i++) writeFileSync(join(base, `pool/small-${i}_1_amd64.deb`), randomBytes(2048))
  writeFileSync(join(base, 'pool/large_1_amd64.deb'), randomBytes(LARGE_BYTES))
  writeFileSync(join(index, 'Packages.gz'), randomBytes(2 << 20))
  writeFileSync(join(base, 'r1-bench/InRelease'), randomBytes(3000).toString('hex'))
  symlinkSync('../pool', join(base, 'r1-bench/pool'))
  symlinkSync('../.generations/deb/jammy/r1-bench', join(repos, 'dists/jammy'))
  return repos
}

async function startNginx(dir: string, repos: string, workers: string): Promise<Server> {
  const port = await freePort()
  const work = join(dir, 'nginx')
  mkdirSync(work)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${work}/${kind};`)
    .join(' ')
  const config = `
    user root; worker_processes ${workers}; daemon off; pid ${work}/pid; error_log ${work}/error.log;
    events { worker_connections 4096; }
    http {
      ${temporary} sendfile on; tcp_nopush on; keepalive_requests 1000000000; default_type application/octet-stream;
      access_log ${work}/access.log combined buffer=64k flush=1s;
      server { listen 127.0.0.1:${port} backlog=4096; location /repos/dists/ { alias ${repos}/dists/; } }
    }`
  writeFileSync(join(work, 'nginx.conf'), config)
  const child = spawn('nginx', ['-p', work, '-c', join(work, 'nginx.conf')], { stdio: 'inherit' })
  await reachable(port)
  return { name: 'nginx', port, pids: () => family(child), stop: () => stop(child, 'SIGQUIT') }
}

async function startOurs(repos: string, processes: string): Promise<Server> {
  const port = await freePort()
  const child = spawn(process.execPath, [join(PROJECT, 'dist/main.js'), 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...SERVICE_ENV,
      ...{ PATH: process.env['PATH'], ENV: 'development', REPO_FORMAT: 'apt', BIND_HOST: '127.0.0.1' },
      ...{ REPOS_DIR: repos, APT_PORT: String(port), RPM_REPO_PORT: '0', SERVE_PROCESSES: processes },
    },
  })
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => line.includes('"msg":"ready"') && resolve())
    child.once('exit', (code) => reject(new Error(`the listener ended with ${code}`)))
  })
  const name = `${processes} process${processes === '1' ? '' : 'es'}`
  return { name, port, pids: () => family(child), stop: () => stop(child, 'SIGTERM') }
}

/** The process and its children. */
function family({ pid }: ChildProcess): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return [pid!, ...children.filter(Boolean).map(Number)]
}

/** Each scenario is a Lua file for wrk. The files for the servers differ only in entity tags. */
async function describeScenarios(dir: string, servers: readonly Server[]): Promise<Scenario[]> {
  const base = '/repos/dists/jammy'
  const index = `${base}/main/binary-amd64/Packages.gz`
  const tags: (string | null)[] = []
  for (const { port } of servers)
    tags.push((await fetch(`http://127.0.0.1:${port}${base}/InRelease`)).headers.get('etag'))
  const range = (path: string, size: number, length: number) =>
    `request = function() local at = math.random(0, ${size - length}); ` +
    `return wrk.format('GET', '${path}', { Range = 'bytes=' .. at .. '-' .. (at + ${length - 1}) }) end`
  const get = (path: string) => `wrk.path = '${path}'`
  const scenarios: [name: string, script: (server: number) => string][] = [
    [
      '1,000 random packages of 2 KiB',
      () =>
        `request = function() return wrk.format('GET', '${base}/pool/small-' .. math.random(0, ${SMALL_FILES - 1}) .. '_1_amd64.deb') end`,
    ],
    ['InRelease, 6 kB', () => get(`${base}/InRelease`)],
    ['InRelease, not modified', (i) => `wrk.path = '${base}/InRelease'; wrk.headers['If-None-Match'] = '${tags[i]}'`],
    ['index of 2 MiB', () => get(index)],
    ['ranges of 16 KiB, index', () => range(index, 2 << 20, 16 << 10)],
    ['ranges of 64 KiB, large package', () => range(`${base}/pool/large_1_amd64.deb`, LARGE_BYTES, 64 << 10)],
    ['large package of 16 MiB', () => get(`${base}/pool/large_1_amd64.deb`)],
  ]
  return scenarios.map(([name, script], n) => ({
    name,
    scripts: servers.map((_, i) => {
      const path = join(dir, `scenario-${n}-${i}.lua`)
      writeFileSync(path, `math.randomseed(7)\n${script(i)}\n${REPORT}\n`)
      return path
    }),
  }))
}

function runWrk(server: Server, script: string, { seconds, connections }: Load): Run {
  const before = cpuTime(server)
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script]
  const output = execFileSync('wrk', [...options, `http://127.0.0.1:${server.port}`], { encoding: 'utf8' })
  const [requests = NaN, microseconds = NaN, p99 = NaN, errors] = (/RESULT (.*)/.exec(output)?.[1] ?? '')
    .split(' ')
    .map(Number)
  if (errors !== 0) throw new Error(output)
  return { rate: (requests / microseconds) * 1e6, p99: p99 / 1000, cpu: (cpuTime(server) - before) / requests }
}

/** CPU time of all processes of a server in microseconds. The kernel counts in hundredths of a second. */
function cpuTime({ pids }: Server): number {
  const ticks = pids().map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) * 10_000
}

/** In MiB. */
function peakMemory(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

async function reachable(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await accepts(port)) return
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`nothing listens on port ${port}`)
}

function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((done) => {
    child.once('exit', () => done())
    child.kill(signal)
  })
}
