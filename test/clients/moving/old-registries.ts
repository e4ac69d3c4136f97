// Registries that people move from, the real ones, with what a test publishes to them.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { freePort } from '../../ports.ts'
import { publishBody, type PublishedNpm } from '../../samples/npm.ts'

export interface OldRegistry {
  /** with a slash at its end */
  address: string
  stop(): Promise<void>
}

const JSON_TYPE = { accept: 'application/json', 'content-type': 'application/json' }
const PASSWORD = 'password-of-a-test'

/** The directory of the programs. */
function installed(): string {
  const script = join(import.meta.dirname, '..', 'old-registries.sh')
  // vitest was started by npm, whose variables the script's npm must not see.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:npm_|vitest|node_env$)/i.test(name)),
  )
  return execFileSync('sh', [script], { encoding: 'utf8', env }).trim()
}

async function run(directory: string, command: readonly string[], ready: string): Promise<() => Promise<void>> {
  const [program = '', ...args] = command
  const child: ChildProcess = spawn(program, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = createWriteStream(join(directory, 'log'))
  child.stdout!.pipe(log)
  child.stderr!.pipe(log)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await expect
    .poll(
      () =>
        fetch(ready).then(
          ({ ok }) => ok,
          () => child.exitCode,
        ),
      { timeout: 60_000 },
    )
    .toBe(true)
  return async () => {
    child.kill()
    await exited
    await rm(directory, { recursive: true, force: true })
  }
}

async function json(method: string, url: string, body: object, headers = {}): Promise<Record<string, any>> {
  const reply = await fetch(url, { method, body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } })
  expect(reply.ok, `${method} ${url}: ${reply.status}`).toBe(true)
  return (await reply.json()) as Record<string, any>
}

/** @param packages in the order in which they are published */
export async function startVerdaccio(packages: readonly PublishedNpm[]): Promise<OldRegistry> {
  const programs = installed()
  const directory = await mkdtemp(join(tmpdir(), 'verdaccio-'))
  const config = ['storage: ./storage', 'auth: { htpasswd: { file: ./htpasswd, max_users: 10 } }']
  const rights = "packages: { '**': { access: $all, publish: $authenticated } }"
  await writeFile(join(directory, 'config.yaml'), [...config, rights, ''].join('\n'))
  const host = `127.0.0.1:${await freePort()}`
  const address = `http://${host}/`
  const program = join(programs, 'node_modules/verdaccio/bin/verdaccio')
  const command = [process.execPath, program, '--config', 'config.yaml', '--listen', host]
  const stop = await run(directory, command, `${address}-/ping`)
  const user = { name: 'ada', password: PASSWORD, type: 'user' }
  const { token } = await json('PUT', `${address}-/user/org.couchdb.user:ada`, user)
  for (const one of packages)
    await json('PUT', address + one.name.replace('/', '%2f'), JSON.parse(publishBody(one).toString()) as object, {
      authorization: `Bearer ${token}`,
    })
  return { address, stop }
}

/** @param files by their names, of the index root/dev */
export async function startDevpi(files: Readonly<Record<string, Buffer>>): Promise<OldRegistry> {
  const programs = join(installed(), 'python/bin')
  const directory = await mkdtemp(join(tmpdir(), 'devpi-'))
  const state = ['--serverdir', join(directory, 'state')]
  execFileSync(join(programs, 'devpi-init'), [...state, '--no-root-pypi', '--root-passwd', PASSWORD], { stdio: 'pipe' })
  const port = String(await freePort())
  const root = `http://127.0.0.1:${port}`
  const command = [join(programs, 'devpi-server'), ...state, '--host', '127.0.0.1', '--port', port]
  const stop = await run(directory, command, `${root}/+api`)
  const { result } = await json('POST', `${root}/+login`, { user: 'root', password: PASSWORD })
  const session = Buffer.from(`root:${result.password}`).toString('base64')
  await json('PUT', `${root}/root/dev`, { bases: [], type: 'stage' }, { 'x-devpi-auth': session })
  for (const [filename, bytes] of Object.entries(files)) {
    const [name = '', version = ''] = filename.replace(/\.tar\.gz$/, '').split('-')
    const form = new FormData()
    for (const [field, value] of Object.entries({ ':action': 'file_upload', name, version })) form.set(field, value)
    form.set('filetype', filename.endsWith('.whl') ? 'bdist_wheel' : 'sdist')
    form.set('content', new Blob([new Uint8Array(bytes)]), filename)
    const headers = { 'x-devpi-auth': session }
    const reply = await fetch(`${root}/root/dev/`, { method: 'POST', body: form, headers })
    expect(reply.status, await reply.text()).toBe(200)
  }
  return { address: `${root}/root/dev/+simple/`, stop }
}
