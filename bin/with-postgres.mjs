// Runs a command with TEST_DATABASE_URL for a temporary PostgreSQL of Debian's packages, which it installs when missing.
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const LIB = '/usr/lib/postgresql'

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string }} options
 * @returns its output
 */
function run(command, args, options = {}) {
  const { status, stdout, error } = spawnSync(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    ...options,
  })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
  return stdout
}

function binaries() {
  const versions = () =>
    existsSync(LIB) ? readdirSync(LIB).filter((version) => existsSync(join(LIB, version, 'bin', 'initdb'))) : []
  if (versions().length === 0) {
    run('apt-get', ['update', '-qq'])
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'postgresql'], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  }
  const [newest = ''] = versions().sort((a, b) => Number(b) - Number(a))
  return join(LIB, newest, 'bin')
}

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}

const bin = binaries()
const base = mkdtempSync(join(tmpdir(), 'gatehouse-pg-'))
const data = join(base, 'data')
// PostgreSQL refuses to run as root.
const isRoot = process.getuid?.() === 0
/** @param {string} command @param {string[]} args */
const as = (command, args) =>
  isRoot ? run('runuser', ['-u', 'postgres', '--', command, ...args], { cwd: base }) : run(command, args)
if (isRoot) {
  /** @param {string} flag */
  const uid = (flag) => Number(run('id', [flag, 'postgres']))
  chownSync(base, uid('-u'), uid('-g'))
} else chmodSync(base, 0o700)
const port = await freePort()
// The server ends with the command, so it need not wait for the disk.
const fast = '-c fsync=off -c full_page_writes=off -c max_connections=300'
as(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'])
as(join(bin, 'pg_ctl'), [
  '-D',
  data,
  '-w',
  '-l',
  join(base, 'log'),
  '-o',
  `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${base} ${fast}`,
  'start',
])
const [command = '', ...args] = process.argv.slice(2)
let status = 1
try {
  status =
    spawnSync(command, args, {
      stdio: 'inherit',
      env: { ...process.env, TEST_DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres` },
    }).status ?? 1
} finally {
  as(join(bin, 'pg_ctl'), ['-D', data, '-m', 'immediate', 'stop'])
  rmSync(base, { recursive: true, force: true })
}
process.exit(status)
