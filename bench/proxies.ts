// Installs one tree of npm packages and one of wheels from their registries, and through proxies of them, cold and warm.
// beside Verdaccio and devpi. Usage: node bin/with-postgres.mjs npx node bench/proxies.ts [--npm bench/trees/npm] [--python bench/trees/python] [--rounds 2]
// The registries are those that npm and pip use here. What counts are ratios to the direct installation of the same round. Each installation begins
// with an empty cache of its client; the lock files have digests and no addresses, so that clients ask for each list and each file.
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from '../bin/build.mjs'
import { startDevpi, startVerdaccio, type OldRegistry } from '../test/clients/old-registries.ts'
import { pythonIndex, startProxies } from '../test/clients/upstream.ts'
import { removeTemporary, type Service } from '../test/service.ts'
import { createBenchDatabase, median } from './database.ts'

const PROJECT = resolve(import.meta.dirname, '..')
const RULES = { min_age_days: 0 }

const { values } = parseArgs({
  options: {
    npm: { type: 'string', default: join(PROJECT, 'bench/trees/npm') },
    python: { type: 'string', default: join(PROJECT, 'bench/trees/python') },
    rounds: { type: 'string', default: '2' },
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

const QUIET = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', '--loglevel=error']

async function npmCi(from: string): Promise<number> {
  const path = place()
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(resolve(values.npm), file), join(path, file))
  const args = [npm11, 'ci', ...QUIET, `--registry=${from}`]
  const seconds = await timed(process.execPath, args, path, { npm_config_cache: join(path, 'cache') })
  rmSync(path, { recursive: true })
  return seconds
}

async function uvInstall(from: string): Promise<number> {
  const path = place()
  const locked = ['--require-hashes', '--requirement', join(resolve(values.python), 'requirements.txt')]
  const args = ['pip', 'install', '--index-url', from, '--target', join(path, 'target'), ...locked]
  const env = {
    UV_NO_CONFIG: '1',
    UV_CACHE_DIR: join(path, 'cache'),
    PATH: [tools, process.env['PATH']].join(delimiter),
  }
  const seconds = await timed(join(tools, 'uv'), args, path, env)
  rmSync(path, { recursive: true })
  return seconds
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

const print = (...cells: (string | number)[]) => console.log(`| ${cells.join(' | ')} |`)
const shown = (seconds: number[], direct: number[]) =>
  [median(seconds).toFixed(1), (median(seconds) / median(direct)).toFixed(2)] as const

interface Ways {
  direct(): Promise<number>
  ours(round: number): Promise<number>
  peer: [name: string, start: () => Promise<OldRegistry>, install: (from: string) => Promise<number>]
}

/** Each cold installation is the first one from a new proxy. */
async function measure(what: string, service: Service, { direct, ours, peer: [name, start, install] }: Ways) {
  let peer: OldRegistry | undefined
  await loopOf(service)
  const memory = watch(service)
  const fresh = async () => {
    await peer?.stop()
    peer = await start()
    return install(peer.address)
  }
  const again = () => install(peer!.address)
  const ways = { direct, 'ours, cold': ours, 'ours, warm': ours, [`${name}, cold`]: fresh, [`${name}, warm`]: again }
  await compare(what, ways).finally(() => peer?.stop())
  console.log(`the service took ${memory()}; ${await loopOf(service)}`)
}

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
  const { packages } = JSON.parse(readFileSync(join(resolve(values.npm), 'package-lock.json'), 'utf8')) as {
    packages: object
  }
  const wheels = readFileSync(join(resolve(values.python), 'requirements.txt'), 'utf8').match(/==/g)
  console.log(
    `${Object.keys(packages).length - 1} npm packages, ${wheels?.length} wheels, load ${loadavg()[0]!.toFixed(1)}, ${values.rounds} rounds, medians`,
  )
  print('what', 'from', 'seconds', 'of direct')
  await measure('npm ci', service, {
    direct: () => npmCi(registry),
    ours: (round) => npmCi(`${service.api}/npm/r${round}/`),
    peer: ['Verdaccio', () => startVerdaccio({ upstream: registry }), npmCi],
  })
  await measure('uv pip install', python, {
    direct: () => uvInstall(pythonIndex()),
    ours: (round) => uvInstall(`${python.api}/pypi/r${round}/simple/`),
    peer: ['devpi', () => startDevpi({ upstream: pythonIndex() }), uvInstall],
  })
} finally {
  for (const service of services) await service.stop()
  for (const drop of drops) await drop()
  await removeTemporary()
  rmSync(dir, { recursive: true, force: true })
}
