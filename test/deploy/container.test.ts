// deploy/container: the compose file as Compose reads it, and the image, built and run by rootless podman.
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { versions } from '../../bin/runtime.mjs'
import { freePort } from '../ports.ts'
import { buildDeb } from '../samples/deb.ts'
import { createPodman, type Podman } from './podman.ts'

const CONTAINER = join(import.meta.dirname, '../../deploy/container')

const { pinned: NODE } = versions()

interface Compose {
  services: Record<
    string,
    {
      image: string
      environment?: Record<string, string>
      extra_hosts?: Record<string, string>
      networks: Record<string, { ipv4_address?: string } | null>
      ports?: { published: string }[]
      volumes: { type: string; source: string; target: string }[]
    }
  >
  networks: Record<string, { ipam?: { config: { subnet: string }[] } }>
}

describe('the compose file', () => {
  let compose: Compose
  beforeAll(() => {
    const program = execFileSync(join(import.meta.dirname, 'go-tool.sh'), ['compose'], { encoding: 'utf8' }).trim()
    // Its own variables are no part of the question, and this program does not take them from the environment.
    const { status, stdout, stderr } = spawnSync(program, ['-no-interpolation', 'compose.yaml'], {
      cwd: CONTAINER,
      encoding: 'utf8',
    })
    expect(status, stderr).toBe(0)
    compose = parse(stdout) as Compose
  })

  test('uses every variable of the example, and insists on those that have no value there', () => {
    const example = readFileSync(join(CONTAINER, 'example.env'), 'utf8')
    const text = Object.values(compose.services['gatehouse']!.environment!).join('\n')
    for (const [, name, value] of example.matchAll(/^([A-Z_]+)=(.*)$/gm))
      expect(text).toContain(value === '' ? `\${${name}:?` : `\${${name}:-`)
  })

  test('takes no variable that is not in the example, and none of them is empty in silence', () => {
    const example = readFileSync(join(CONTAINER, 'example.env'), 'utf8')
    const file = readFileSync(join(CONTAINER, 'compose.yaml'), 'utf8').replace(/^\s*#.*$/gm, '')
    const used = [...file.matchAll(/\$(?:\{[^}]*\}|\w+)/g)].map(([text]) => text)
    expect(used.length).toBeGreaterThan(6)
    for (const text of used) {
      const [, name] = /^\$\{([A-Z_]+)(?::-|:\?see example\.env\})/.exec(text) ?? []
      expect([text, name && example.includes(`\n${name}=`)]).toEqual([text, true])
    }
  })

  test('publishes no port but those of nginx', () => {
    const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => `${name} ${port.published}`),
    )
    expect(published).toEqual(['nginx 80', 'nginx 443', 'nginx 8080'])
  })

  test('gives nginx and the service addresses of one network, which the service trusts and nginx knows', () => {
    const { gatehouse, nginx } = compose.services
    const [at, proxy] = [gatehouse, nginx].map((one) => one!.networks['front']!.ipv4_address!)
    expect(gatehouse!.environment).toMatchObject({ TRUSTED_PROXIES: proxy })
    expect(nginx!.extra_hosts).toEqual({ gatehouse: at })
    expect(Object.keys(nginx!.networks)).toEqual(['front'])
    const [network] = compose.networks['front']!.ipam!.config
    expect(network!.subnet.replace(/\.\d+\/\d+$/, '')).toBe(at!.replace(/\.\d+$/, ''))
  })

  test('gives nginx the upstreams of deploy/nginx, at the address of the service', () => {
    const upstreams = (path: string) =>
      readFileSync(join(CONTAINER, path), 'utf8')
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
    const here = upstreams('../nginx/conf.d/gatehouse-upstreams.conf')
    expect(upstreams('upstreams.conf')).toEqual(here.map((line) => line.replace('127.0.0.1:', 'gatehouse:')))
    const mounted = compose.services['nginx']!.volumes.map(({ target }) => target)
    expect(mounted).toContain('/etc/nginx/conf.d/gatehouse-upstreams.conf')
  })
})

describe('the image', () => {
  let podman: Podman
  beforeAll(async () => {
    podman = await createPodman(NODE)
    podman.build('gatehouse')
  })
  afterAll(() => podman?.remove())

  const inside = (...command: string[]) =>
    podman.run('run', '--rm', '--network=none', '--entrypoint', command[0]!, 'gatehouse', ...command.slice(1))

  test('has the Node of the lockfile, and a pg_dump for the PostgreSQL of compose', () => {
    expect(inside('/usr/lib/gatehouse/bin/node', '--version').trim()).toBe(`v${NODE}`)
    const { services } = parse(readFileSync(join(CONTAINER, 'compose.yaml'), 'utf8')) as Compose
    const [, server] = /postgres:(\d+)/.exec(services['postgres']!.image)!
    const [, client] = /(\d+)\.\d+/.exec(inside('pg_dump', '--version'))!
    expect(Number(client)).toBeGreaterThanOrEqual(Number(server))
  })

  test('runs in production with a read-only root and no rights, takes a package, and stops in order', async () => {
    const port = await freePort()
    const secret = () => randomBytes(30).toString('base64url')
    const env = {
      ...{ DATABASE_URL: 'pglite:///repos/db', BIND_HOST: '127.0.0.1', SVC_OSV_URL: 'none', SETUP_TOKEN: secret() },
      ...{ JWT_SECRET_KEY: secret(), WEBHOOK_SECRET: secret(), SETTINGS_ENCRYPTION_KEY: secret() },
      ...{ SVC_LICENSE_VENDOR_KEY: secret(), SERVE_PROCESSES: '1', REPO_FORMAT: 'all' },
      ...{ BACKEND_PORT: String(port), FRONTEND_PORT: '0', APT_PORT: '0', RPM_REPO_PORT: '0' },
    }
    const limits = ['--read-only', '--tmpfs=/tmp', '--cap-drop=all', '--security-opt=no-new-privileges']
    const variables = Object.entries(env).map(([name, value]) => `--env=${name}=${value}`)
    podman.run('run', '--detach', '--name=gate', '--network=host', ...limits, ...variables, 'gatehouse')
    const at = `http://127.0.0.1:${port}`
    const call = async (path: string, body: object | FormData, headers = {}) => {
      const isForm = body instanceof FormData
      const type: Record<string, string> = isForm ? {} : { 'content-type': 'application/json' }
      const sent = isForm ? body : JSON.stringify(body)
      const answer = await fetch(`${at}/api/v1${path}`, {
        method: 'POST',
        headers: { ...type, ...headers },
        body: sent,
      })
      return { status: answer.status, body: (await answer.json()) as Record<string, any> }
    }
    const ready = async () => (await fetch(`${at}/health/ready`).catch(() => null))?.status
    await expect.poll(ready).toBe(200)
    const admin = { admin_username: 'admin', admin_password: 'A-long-passphrase-1' }
    const setup = await call('/setup/', admin, { 'x-setup-token': env.SETUP_TOKEN })
    expect(setup.status, JSON.stringify(setup.body)).toBeLessThan(300)
    const login = await call('/auth/token', { username: 'admin', password: admin.admin_password })
    const form = new FormData()
    form.set('distribution', 'bookworm')
    form.set('file', new Blob([await buildDeb({ name: 'hello' })]), 'hello.deb')
    const upload = await call('/upload/', form, { authorization: `Bearer ${login.body['access_token']}` })
    // Without an engine, production holds it.
    expect([upload.status, upload.body['status']], JSON.stringify(upload.body)).toEqual([201, 'pending_review'])
    podman.run('healthcheck', 'run', 'gate')
    expect(podman.run('exec', 'gate', 'id', '-u').trim()).toBe('10001')
    podman.run('stop', '--time=60', 'gate')
    expect(podman.run('inspect', '--format={{.State.ExitCode}}', 'gate').trim()).toBe('0')
  })
})
