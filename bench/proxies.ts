// Installs one tree of npm packages and one of wheels from their registries, and through proxies of them, cold and warm.
// Usage: node bin/with-postgres.mjs npx node bench/proxies.ts [--npm "webpack jest eslint"] [--python jupyterlab] [--rounds 2] [--verdaccio <program>]
// The registries are those that npm and pip use here. What counts are ratios to the direct installation of the same round. Each installation begins
// with an empty cache of its client; npm has a lockfile without addresses, so that it asks for each list and each file.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from '../bin/build.mjs'
import { pythonIndex, startProxies } from '../test/clients/upstream.ts'
import { accepts, freePort } from '../test/ports.ts'
import { removeTemporary, type Service } from '../test/service.ts'
import { createBenchDatabase, median } from './database.ts'

const PROJECT = resolve(import.meta.dirname, '..')
const RULES = { min_age_days: 0 }

const { values } = parseArgs({
  options: {
    npm: { type: 'string', default: 'webpack jest eslint' },
    python: { type: 'string', default: 'jupyterlab' },
    rounds: { type: 'string', default: '2' },
    verdaccio: { type: 'string' },
  },
})
const dir = mkdtempSync(join(tmpdir(), 'bench-proxies-'))
const programs = execFileSync('sh', [join(PROJECT, 'test/clients/npm-clients.sh')], { encoding: 'utf8' }).trim()
const npm11 = join(programs, 'npm11/node_modules/npm/bin/npm-cli.js')
const tools = execFileSync('sh', [join(PROJECT, 'test/clients/pypi/tools.sh')], { encoding: 'utf8' }).trim()
const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8', cwd: tmpdir() }).trim()

let places = 0
function place(): string {
  const path = join(dir, `p${places++}`)
  mkdirSync(path)
  return path
}

/** @returns seconds */
function timed(program: string, args: readonly string[], cwd: string, env: Record<string, string>): Promise<number> {
  const from = performance.now()
  return new Promise((done, fail) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (piece) => (said += String(piece)))
    child.once('close', (code) =>
      code === 0 ? done((performance.now() - from) / 1000) : fail(new Error(`${args.join(' ')}\n${said}`)),
    )
  })
}

const QUIET = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']

async function lockedProject(): Promise<{ path: string; count: number }> {
  const path = place()
  writeFileSync(join(path, 'package.json'), '{"private":true}')
  const args = [
    'install',
    '--package-lock-only',
    '--omit-lockfile-registry-resolved',
    ...QUIET,
    ...values.npm.split(' '),
  ]
  await timed(process.execPath, [npm11, ...args, `--registry=${registry}`], path, { npm_config_cache: place() })
  const { packages } = JSON.parse(readFileSync(join(path, 'package-lock.json'), 'utf8')) as { packages: object }
  return { path, count: Object.keys(packages).length - 1 }
}

async function npmCi(project: string, from: string): Promise<number> {
  const path = place()
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(project, file), join(path, file))
  const args = [npm11, 'ci', ...QUIET, `--registry=${from}`]
  const seconds = await timed(process.execPath, args, path, { npm_config_cache: join(path, 'cache') })
  rmSync(path, { recursive: true })
  return seconds
}

async function uvInstall(from: string): Promise<{ seconds: number; count: number }> {
  const path = place()
  const target = join(path, 'target')
  const args = ['pip', 'install', '--index-url', from, '--target', target, ...values.python.split(' ')]
  const env = {
    UV_NO_CONFIG: '1',
    UV_CACHE_DIR: join(path, 'cache'),
    PATH: [tools, process.env['PATH']].join(delimiter),
  }
  const seconds = await timed(join(tools, 'uv'), args, path, env)
  const count = readdirSync(target).filter((name) => name.endsWith('.dist-info')).length
  rmSync(path, { recursive: true })
  return { seconds, count }
}

/** MiB in use by this process alone, with its share of what several use. */
const memoryOf = (pid: number | string): number =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024

/** @returns ends it, and says what the process and its readers took at most */
function watch({ process: { pid } }: Service): () => string {
  const most = { own: 0, readers: 0 }
  const look = () => {
    try {
      const readers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
      most.own = Math.max(most.own, memoryOf(pid!))
      most.readers = Math.max(
        most.readers,
        readers.map(memoryOf).reduce((sum, one) => sum + one, 0),
      )
    } catch {
      // A reader has ended.
    }
  }
  const timer = setInterval(look, 500)
  return () => {
    clearInterval(timer)
    return `at most ${Math.round(most.own)} MiB, its readers ${Math.round(most.readers)} MiB`
  }
}

/** Since it was asked last. */
async function loopOf(service: Service): Promise<string> {
  const text = await (
    await fetch(`${service.api}/metrics`, { headers: { authorization: `Bearer ${service.token}` } })
  ).text()
  const lines = text.split('\n').filter((line) => /^nodejs_eventloop_lag_(?:max|p99)_seconds /.test(line))
  return lines.join(', ')
}

async function startVerdaccio(program: string): Promise<{ url: string; stop(): void }> {
  const path = place()
  const port = await freePort()
  writeFileSync(
    join(path, 'config.yaml'),
    [
      ...[`storage: ${join(path, 'storage')}`, 'uplinks:', '  up:', `    url: ${registry}`, '    maxage: 60m'],
      ...['packages:', "  '**':", '    access: $all', '    proxy: up', 'log: { type: stdout, level: fatal }', ''],
    ].join('\n'),
  )
  const args = [program, '--config', join(path, 'config.yaml'), '--listen', `127.0.0.1:${port}`]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: 'ignore' })
  while (!(await accepts(port))) await new Promise((done) => setTimeout(done, 200))
  return { url: `http://127.0.0.1:${port}/`, stop: () => void child.kill() }
}

const print = (...cells: (string | number)[]) => console.log(`| ${cells.join(' | ')} |`)
const shown = (seconds: number[], direct: number[]) =>
  [median(seconds).toFixed(1), (median(seconds) / median(direct)).toFixed(2)] as const

async function compare(what: string, ways: Record<string, (round: number) => Promise<number>>): Promise<void> {
  const took: Record<string, number[]> = {}
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [way, work] of Object.entries(ways)) (took[way] ??= []).push(await work(round))
  for (const [way, seconds] of Object.entries(took)) print(what, way, ...shown(seconds, took['direct']!))
}

const services: Service[] = []
const drops: (() => Promise<void>)[] = []
async function started(format: 'npm' | 'pypi', rules: Record<string, object>): Promise<Service> {
  const database = await createBenchDatabase(place())
  const service = await startProxies(format, rules, { optimized: true, databaseUrl: database.url })
  services.push(service)
  drops.push(database.drop)
  return service
}

try {
  await build()
  const many = Object.fromEntries(Array.from({ length: Number(values.rounds) }, (_, round) => [`r${round}`, RULES]))
  const service = await started('npm', many)
  const python = await started('pypi', many)
  const { path, count } = await lockedProject()
  const first = await uvInstall(pythonIndex())
  console.log(
    `${count} npm packages, ${first.count} wheels, load ${loadavg()[0]!.toFixed(1)}, ${values.rounds} rounds, medians`,
  )
  print('what', 'from', 'seconds', 'of direct')
  const npmOf = (round: number) => npmCi(path, `${service.api}/npm/r${round}/`)
  const peers: (() => void)[] = []
  const cold: Record<string, (round: number) => Promise<number>> = {}
  if (values.verdaccio) {
    const program = resolve(values.verdaccio)
    let peer: Awaited<ReturnType<typeof startVerdaccio>>
    cold['Verdaccio, cold'] = async () => {
      peer = await startVerdaccio(program)
      peers.push(peer.stop)
      return npmCi(path, peer.url)
    }
    cold['Verdaccio, warm'] = () => npmCi(path, peer.url)
  }
  await loopOf(service)
  const npmMemory = watch(service)
  await compare('npm ci', { direct: () => npmCi(path, registry), 'ours, cold': npmOf, 'ours, warm': npmOf, ...cold })
  for (const stop of peers) stop()
  console.log(`the service took ${npmMemory()}; ${await loopOf(service)}`)
  const uvOf = async (round: number) => (await uvInstall(`${python.api}/pypi/r${round}/simple/`)).seconds
  await loopOf(python)
  const pythonMemory = watch(python)
  const direct = async () => (await uvInstall(pythonIndex())).seconds
  await compare('uv pip install', { direct, 'ours, cold': uvOf, 'ours, warm': uvOf })
  console.log(`the service took ${pythonMemory()}; ${await loopOf(python)}`)
} finally {
  for (const service of services) await service.stop()
  for (const drop of drops) await drop()
  await removeTemporary()
  rmSync(dir, { recursive: true, force: true })
}
