// The registries that people move from, the real ones, with what a test publishes to them or with a registry that they pull through.
import { execFileSync, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accepts, freePort } from '../ports.ts'
import { publishBody, type PublishedNpm } from '../samples/npm.ts'

export interface OldRegistry {
  /** with a slash at its end */
  address: string
  stop(): Promise<void>
}

const JSON_TYPE = { accept: 'application/json', 'content-type': 'application/json' }
const PASSWORD = 'password-of-a-test'

/** The directory of the programs. */
function installed(): string {
  const script = join(import.meta.dirname, 'old-registries.sh')
  // vitest was started by npm, whose variables the script's npm must not see.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:npm_|vitest|node_env$)/i.test(name)),
  )
  return execFileSync('sh', [script], { encoding: 'utf8', env }).trim()
}

/** Waits until it listens. @returns ends it, and removes its directory */
async function run(directory: string, command: readonly string[], port: number): Promise<() => Promise<void>> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = createWriteStream(join(directory, 'log'))
  child.stdout.pipe(log)
  child.stderr.pipe(log)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  while (!(await accepts(port)))
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}; ${directory}/log says why`)
  return async () => {
    child.kill()
    await exited
    await rm(directory, { recursive: true, force: true })
  }
}

async function json(method: string, url: string, body: object, headers = {}): Promise<Record<string, any>> {
  const reply = await fetch(url, { method, body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } })
  if (!reply.ok) throw new Error(`${method} ${url}: ${reply.status} ${await reply.text()}`)
  return (await reply.json()) as Record<string, any>
}

/**
 * @param options.packages in the order in which they are published
 * @param options.upstream of all packages
 */
export async function startVerdaccio(options: {
  packages?: readonly PublishedNpm[]
  upstream?: string
}): Promise<OldRegistry> {
  const programs = installed()
  const directory = await mkdtemp(join(tmpdir(), 'verdaccio-'))
  const config = {
    storage: './storage',
    auth: { htpasswd: { file: './htpasswd', max_users: 10 } },
    uplinks: options.upstream === undefined ? {} : { up: { url: options.upstream, maxage: '60m' } },
    packages: {
      '**': { access: '$all', publish: '$authenticated', ...(options.upstream === undefined ? {} : { proxy: 'up' }) },
    },
    log: { type: 'stdout', level: 'warn' },
  }
  // JSON is YAML.
  await writeFile(join(directory, 'config.yaml'), JSON.stringify(config))
  const port = await freePort()
  const address = `http://127.0.0.1:${port}/`
  const program = join(programs, 'node_modules/verdaccio/bin/verdaccio')
  const command = [process.execPath, program, '--config', 'config.yaml', '--listen', `127.0.0.1:${port}`]
  const stop = await run(directory, command, port)
  const user = { name: 'ada', password: PASSWORD, type: 'user' }
  const { token } = await json('PUT', `${address}-/user/org.couchdb.user:ada`, user)
  for (const one of options.packages ?? [])
    await json('PUT', address + one.name.replace('/', '%2f'), JSON.parse(publishBody(one).toString()) as object, {
      authorization: `Bearer ${token}`,
    })
  return { address, stop }
}

/**
 * @param options.files by their names, of the index root/dev
 * @param options.upstream simple index that root/dev pulls through
 */
export async function startDevpi(options: {
  files?: Readonly<Record<string, Buffer>>
  upstream?: string
}): Promise<OldRegistry> {
  const programs = join(installed(), 'python/bin')
  const directory = await mkdtemp(join(tmpdir(), 'devpi-'))
  const state = ['--serverdir', join(directory, 'state')]
  execFileSync(join(programs, 'devpi-init'), [...state, '--no-root-pypi', '--root-passwd', PASSWORD], { stdio: 'pipe' })
  const port = await freePort()
  const root = `http://127.0.0.1:${port}`
  const listening = ['--host', '127.0.0.1', '--port', String(port), '--request-timeout', '60']
  const command = [join(programs, 'devpi-server'), ...state, ...listening]
  const stop = await run(directory, command, port)
  const { result } = await json('POST', `${root}/+login`, { user: 'root', password: PASSWORD })
  const headers = { 'x-devpi-auth': Buffer.from(`root:${result.password}`).toString('base64') }
  const index =
    options.upstream === undefined
      ? { bases: [], type: 'stage' }
      : // Without the list of all projects, which takes minutes.
        { type: 'mirror', mirror_url: options.upstream, mirror_no_project_list: true }
  await json('PUT', `${root}/root/dev`, index, headers)
  for (const [filename, bytes] of Object.entries(options.files ?? {})) {
    const [name = '', version = ''] = filename.replace(/\.tar\.gz$/, '').split('-')
    const form = new FormData()
    for (const [field, value] of Object.entries({ ':action': 'file_upload', name, version })) form.set(field, value)
    form.set('filetype', filename.endsWith('.whl') ? 'bdist_wheel' : 'sdist')
    form.set('content', new Blob([new Uint8Array(bytes)]), filename)
    const reply = await fetch(`${root}/root/dev/`, { method: 'POST', body: form, headers })
    if (reply.status !== 200) throw new Error(`${filename}: ${reply.status} ${await reply.text()}`)
  }
  return { address: `${root}/root/dev/+simple/`, stop }
}
