// Private distributions with apt, dnf, zypper and an apk client: refused without a token, served with the set-up that the service
// hands out, refused again after a revocation, and served while the service is away.
import { spawn, type ChildProcess } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { need } from '../need.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { apkClients } from './apk-roots.ts'
import { createAptRoot } from './apt-root.ts'
import { runAsRoot } from './command.ts'
import { dnf } from './dnf-root.ts'
import type { RpmRoot } from './rpm-root.ts'
import { zypper } from './zypper-root.ts'

const DEB = 'bookworm'
const DNF = 'almalinux9'
const ZYPPER = 'opensuse-leap-15.6'
const APK = 'alpine3.21'
const PLACES = [DEB, DNF, ZYPPER, APK]

let service: Service
let token: string
let key: string
const cleaned: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  need('apt', 'fakeroot', ...dnf.needs, ...zypper.needs)
  service = await startService({
    env: { REPO_FORMAT: 'all', SVC_DISTRIBUTIONS: [...PLACES, 'jammy'].join(',') },
  })
  key = await (await fetch(`${service.apt}/repos/gpg.key`)).text()
  for (const [distribution, file] of [
    [DEB, await buildDeb({ name: 'hello', version: '1.0' })],
    ['jammy', await buildDeb({ name: 'hello', version: '1.0' })],
    [DNF, await buildRpm({ name: 'hello', version: '1.0' })],
    [ZYPPER, await buildRpm({ name: 'hello', version: '1.0' })],
    [APK, buildApk({ name: 'hello', version: '1.0-r0' })],
  ] as const) {
    const { status, body } = await service.upload(file, 'hello', { distribution })
    expect([status, body.status], JSON.stringify(body)).toEqual([201, 'published'])
  }
  for (const place of PLACES) {
    expect((await service.call('PATCH', `/distributions/${place}`, { private: true })).body).toMatchObject({
      private: true,
    })
    expect((await service.call('POST', '/readers', { place, kind: 'tag', name: 'web' })).status).toBe(201)
  }
  ;({ token } = await enrolled('web-01'))
  // Before listeners know of the change, anybody gets it. Once they know the token, they know all that came before.
  const path = `/repos/dists/${DEB}/InRelease`
  await until(async () => (await ask(path)) === 401 && (await ask(path, token)) === 200)
})
afterAll(async () => {
  for (const clean of cleaned) await clean()
  await service?.stop()
  await removeTemporary()
})

/** A machine with the tag `web`, made with an enrolment. */
async function enrolled(name: string): Promise<{ id: number; token: string }> {
  const wanted = { name: `for-${name}`, tags: ['web'], most: 1, expires_hours: 1 }
  const enrolment = await service.call('POST', '/machines/enrolments', wanted)
  expect(enrolment.status).toBe(201)
  const made = await service.call(
    'POST',
    '/machines/enrol',
    { token: enrolment.body.token, name },
    { authorization: '' },
  )
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body as { id: number; token: string }
}

async function ask(path: string, credential?: string, origin = service.apt): Promise<number> {
  const authorization = `Basic ${Buffer.from(`machine:${credential}`).toString('base64')}`
  const answer = await fetch(origin + path, credential === undefined ? {} : { headers: { authorization } })
  await answer.arrayBuffer()
  return answer.status
}

async function until(isSo: () => Promise<boolean>, seconds = 10): Promise<void> {
  const end = Date.now() + seconds * 1000
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`it took longer than ${seconds} s`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

interface Setup {
  private: boolean
  url: string
  file: { content: string; install_as: string }
  credentials: { content: string; install_as: string } | null
  script: { content: string; url: string }
}
const setupOf = async (codename: string) =>
  (await service.call('GET', `/distributions/${codename}/setup`)).body as Setup
const filled = (text: string) => text.replaceAll('<token>', token)

it('apt reads it with a file in auth.conf.d, and not without', async () => {
  const root = await createAptRoot({ url: `${service.apt}/repos`, suite: DEB, key })
  cleaned.push(root.remove)
  expect((await root.update()).text).toMatch(/401 +Unauthorized/)
  const { credentials, private: isPrivate } = await setupOf(DEB)
  expect(isPrivate).toBe(true)
  const path = join(root.directory, credentials!.install_as)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, filled(credentials!.content), { mode: 0o600 })
  const updated = await root.update()
  expect(updated.code, updated.text).toBe(0)
  const installed = await root.run('apt-get', 'install', 'hello')
  expect(installed.code, installed.text).toBe(0)
  expect(await root.installed()).toEqual({ hello: '1.0' })
})

async function expectInstalls(root: RpmRoot): Promise<void> {
  cleaned.push(root.dispose)
  const refused = await root.refresh()
  expect(refused.code, refused.text).not.toBe(0)
  expect(refused.text).toMatch(/401|[Aa]uthentication|credentials/)
}

it('dnf reads it with username and password in the .repo file, and not without', async () => {
  const root = await dnf.createRoot({ url: `${service.rpm}/repos/${DNF}/x86_64/`, key })
  await expectInstalls(root)
  await root.useRepoFile(filled((await setupOf(DNF)).file.content))
  const installed = await root.install('hello')
  expect(installed.code, installed.text).toBe(0)
  expect(Object.keys(await root.installed())).toEqual(['hello'])
})

it('zypper reads it with a file in credentials.d, and not without', async () => {
  const root = await zypper.createRoot({ url: `${service.rpm}/repos/${ZYPPER}/x86_64/`, key })
  await expectInstalls(root)
  const { file, credentials } = await setupOf(ZYPPER)
  const path = join(root.directory, credentials!.install_as)
  await runAsRoot(['mkdir', '-p', dirname(path)], root.directory)
  await writeFile(path, filled(credentials!.content), { mode: 0o600 })
  await root.useRepoFile(file.content)
  const installed = await root.install('hello')
  expect(installed.code, installed.text).toBe(0)
  expect(Object.keys(await root.installed())).toEqual(['hello'])
})

it.each(apkClients().map((client) => [client.name, client] as const))(
  '%s reads it with the token in the address, and not without',
  async (_, client) => {
    await client.prepare()
    const keys = [{ name: 'svc.rsa.pub', pem: await (await fetch(`${service.apt}/apk/svc.rsa.pub`)).text() }]
    const refused = await client.createRoot({ url: `${service.apt}/apk/${APK}/main`, keys })
    cleaned.push(refused.remove)
    expect((await refused.add('hello')).code).not.toBe(0)
    const root = await client.createRoot({ url: filled((await setupOf(APK)).file.content).trim(), keys })
    cleaned.push(root.remove)
    const added = await root.add('hello')
    expect(added.code, added.text).toBe(0)
    expect(await root.installed()).toEqual({ hello: '1.0-r0' })
  },
)

describe('the set-up scripts', () => {
  it.each([
    [DEB, '/repos/bookworm.sh', 'apt', 'etc/apt/auth.conf.d/gatehouse-bookworm.conf', 'apt-get update'],
    [DNF, '/repos/almalinux9.sh', 'rpm', 'etc/yum.repos.d/gatehouse-almalinux9.repo', 'dnf -y'],
    [ZYPPER, '/repos/opensuse-leap-15.6.sh', 'rpm', 'etc/zypp/credentials.d/gatehouse-opensuse-leap-15.6', 'zypper '],
    [APK, '/repos/alpine3.21.sh', 'apt', 'etc/apk/repositories.d/gatehouse-alpine3.21.list', 'apk update'],
  ] as const)(
    'of %s is private too, and puts the token into a file of root',
    async (codename, path, port, file, last) => {
      expect(await ask(path, undefined, service[port])).toBe(401)
      const authorization = `Bearer ${token}`
      const script = await (await fetch(service[port] + path, { headers: { authorization } })).text()
      expect(script).toBe((await setupOf(codename)).script.content)
      expect(script).not.toContain(token)
      // In place of the machine's own directories, and without the client.
      const root = await mkdtemp(join(tmpdir(), 'setup-'))
      cleaned.push(() => rm(root, { recursive: true }))
      for (const made of ['etc/apt/sources.list.d', 'etc/yum.repos.d', 'etc/zypp/repos.d', 'etc/apk/keys'])
        await mkdir(join(root, made), { recursive: true })
      const moved = script.replaceAll('/etc/', `${root}/etc/`).replace(new RegExp(`^${last}.*$`, 'm'), 'true')
      const run = async (value: string) => {
        const child = spawn('sh', [], {
          env: { PATH: process.env['PATH'], GATEHOUSE_TOKEN: value },
          stdio: ['pipe', 'ignore', 'ignore'],
        })
        child.stdin.end(moved)
        return (await once(child, 'exit'))[0] as number
      }
      expect(await run('')).toBe(1)
      expect(await run("x'; rm -rf /")).toBe(1)
      expect(await run(token)).toBe(0)
      const written = join(root, file)
      expect((await stat(written)).mode & 0o077).toBe(0)
      expect(await readFile(written, 'utf8')).toContain(token)
    },
  )

  it('of a public distribution asks for no token', async () => {
    const { script, credentials } = await setupOf('jammy')
    expect(script.content).not.toContain('GATEHOUSE_TOKEN')
    expect(credentials).toBeNull()
    expect(await ask('/repos/jammy.sh')).toBe(200)
  })
})

it('downloads and the machine tell who it was', async () => {
  await until(async () => {
    const { body } = await service.call('GET', '/machines?q=web-01')
    return body.items[0].last_seen !== null
  }, 30)
  const { body } = await service.call('GET', `/downloads/packages/hello?distribution=${DEB}`)
  expect(body.downloaded_by).toContainEqual(expect.objectContaining({ ip: '127.0.0.1', reader: 'machine:web-01' }))
})

it('revocations count within ten seconds, also in processes of their own, and listeners go on without the service', async () => {
  const machine = await enrolled('web-02')
  const listener = await startListener()
  cleaned.push(listener.stop)
  const path = `/repos/dists/${DEB}/InRelease`
  for (const origin of [service.apt, listener.url])
    await until(async () => (await ask(path, machine.token, origin)) === 200)
  expect((await service.call('DELETE', `/machines/${machine.id}`)).status).toBe(200)
  const began = Date.now()
  for (const origin of [service.apt, listener.url])
    await until(async () => (await ask(path, machine.token, origin)) === 401)
  expect(Date.now() - began).toBeLessThan(10_000)
  await service.stop()
  expect(await ask(path, token, listener.url)).toBe(200)
  expect(await ask(path, machine.token, listener.url)).toBe(401)
  await writeFile(join(service.reposDir, 'access/stamp'), 'damaged')
  await until(async () => (await ask(path, token, listener.url)) === 503)
  expect(await ask('/repos/dists/jammy/InRelease', undefined, listener.url)).toBe(200)
})

/** A process that only serves repositories, as on another machine: it has no database and no secret. */
async function startListener(): Promise<{ url: string; stop(): Promise<unknown> }> {
  const logs = await mkdtemp(join(tmpdir(), 'listener-logs-'))
  await chmod(logs, 0o755)
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, '../../dist/main.js'), 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...{ PATH: process.env['PATH'], ENV: 'development', REPO_FORMAT: 'all', REPOS_DIR: service.reposDir },
      ...{ BIND_HOST: '127.0.0.1', APT_PORT: '0', RPM_REPO_PORT: '0', ACCESS_LOG_DIR: logs, SERVE_PROCESSES: '2' },
      SVC_DISTRIBUTIONS: [...PLACES, 'jammy'].join(','),
    },
  })
  const url = await new Promise<string>((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const { msg, ports } = JSON.parse(line) as { msg: string; ports?: { apt: number } }
      if (msg === 'listening') resolve(`http://127.0.0.1:${ports!.apt}`)
    })
  })
  return {
    url,
    stop: () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      return exited.then(() => rm(logs, { recursive: true, force: true }))
    },
  }
}
