// Downloads by real clients, counted by the real service: each once, despite a kill, a rotation and an nginx in front; and who
// may see who downloaded which package.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAptRoot } from '../clients/apt-root.ts'
import { need } from '../need.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { readAdvisories } from './read-advisories.ts'

const run = promisify(execFile)
const APT = 'Debian APT-HTTP/1.3 (2.6.1)'

let directory: string
let service: Service
let nginx: ChildProcess | null = null
let front = ''
/** path of the package `two` on a listener */
let path = ''

const start = (env: Record<string, string>, before?: Service) =>
  startService({
    env: { SVC_OSV_DIR: join(directory, 'osv'), ACCESS_LOG_DIRECTORIES: directory, ...env },
    ...(before ? { reposDir: before.reposDir, databaseUrl: before.databaseUrl } : {}),
  })

beforeAll(async () => {
  need('apt', 'curl', 'nginx-light')
  directory = await mkdtemp(join(tmpdir(), 'gate-downloads-'))
  await writeAdvisories(join(directory, 'osv'), [
    { id: 'SA-2', ecosystem: 'Ubuntu:22.04:LTS', package: 'two', fixed: null, cve: 'CVE-2026-3002', severity: 'high' },
  ])
  service = await start({ GATEHOUSE_DIE_AT: 'downloads-counted' })
  await readAdvisories(service)
})
afterAll(async () => {
  nginx?.kill('SIGTERM')
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

const curl = (url: string, ...more: string[]) => run('curl', ['-sS', '-o', join(directory, 'got'), ...more, url])
const stats = async () => (await service.call('GET', '/downloads/stats')).body
/** Waits until the service has counted this many, and checks again a while later. */
async function counted(downloads: number) {
  await expect.poll(async () => (await stats()).summary.total_downloads).toBe(downloads)
}

async function as(role: string): Promise<Record<string, string>> {
  const { body } = await service.call('POST', '/auth/api-tokens', { name: `of-${role}`, role })
  return { authorization: `Bearer ${body.token}` }
}

it('a process that is killed while it counts loses nothing, and the next one counts each download once', async () => {
  expect(
    (await service.upload(await buildDeb({ name: 'two' }), 'x.deb', { distribution: 'jammy' })).body,
  ).toMatchObject({
    status: 'pending_review',
  })
  const decision = { decision: 'approve', justification: 'not reachable' }
  expect((await service.call('POST', '/security/packages/two/1.0-1/decide', decision)).status).toBe(200)
  const packages = await (await fetch(`${service.apt}/repos/dists/jammy/main/binary-amd64/Packages`)).text()
  path = `/repos/${/^Filename: (.*)$/m.exec(packages)![1]}`

  await curl(service.apt + path, '-A', APT)
  await curl(service.apt + path, '-r', '0-99')
  await curl(service.apt + path, '-r', '100-')
  await curl(service.apt + path, '-I')
  expect(await service.exited).toMatchObject({ signal: 'SIGKILL' })

  const before = service
  service = await start({}, before)
  await counted(2)
  expect((await stats()).summary).toMatchObject({
    ...{ unique_packages: 1, unique_clients: 1, log_available: true, per_format: { deb: 2, rpm: 0, apk: 0 } },
    per_client_type: { apt: 1, curl: 1 },
  })
})

it('apt, a log that was renamed, and a service that was restarted', async () => {
  const key = await (await fetch(`${service.apt}/repos/gpg.key`)).text()
  const root = await createAptRoot({ url: `${service.apt}/repos`, suite: 'jammy', key })
  try {
    expect((await root.update()).code).toBe(0)
    await root.download('two')
  } finally {
    await root.remove()
  }
  await counted(3)
  expect((await stats()).recent[0]).toMatchObject({ name: 'two', version: '1.0-1', user_agent: root.userAgent, path })
  const log = join(service.reposDir, 'logs', 'access-apt.log')
  await curl(service.apt + path)
  expect(await service.stop()).toBe(0)
  await rename(log, `${log}-20261123`)
  service = await start({}, service)
  await curl(service.apt + path)
  await counted(5)
  const { body } = await service.call('GET', '/metrics').catch(() => ({ body: null }))
  const metrics = body ?? (await (await fetch(new URL('/metrics', service.api))).text())
  expect(String(metrics)).toContain('svc_downloads_total{format="deb"} 5')
})

it('requests through nginx are in two logs and count once, with the address of the client', async () => {
  const access = join(directory, 'nginx-access.log')
  const port = await freePort()
  await writeFile(
    join(directory, 'nginx.conf'),
    `daemon off; pid ${directory}/nginx.pid; error_log ${directory}/nginx-error.log; user root;
     events {}
     http {
       log_format more '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                       '"$http_referer" "$http_user_agent" rt=$request_time';
       access_log ${access} more;
       client_body_temp_path ${directory}/t1; proxy_temp_path ${directory}/t2; fastcgi_temp_path ${directory}/t3;
       uwsgi_temp_path ${directory}/t4; scgi_temp_path ${directory}/t5;
       server { listen 127.0.0.1:${port}; location / { proxy_pass ${service.apt}; } }
     }`,
  )
  nginx = spawn('nginx', ['-c', join(directory, 'nginx.conf'), '-p', directory], { stdio: 'ignore' })
  front = `http://127.0.0.1:${port}`
  await expect
    .poll(() =>
      fetch(front).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBeGreaterThan(0)
  const set = await service.call('PATCH', '/settings/', { downloads: { nginx_logs: access, count: 'nginx' } })
  expect(set.status, JSON.stringify(set.body)).toBe(200)
  // Counts from this moment on, even before the logs are read next.
  await curl(front + path, '--interface', '127.0.0.1')
  await counted(6)
  await expect.poll(async () => (await stats()).logs.some((log: { kind: string }) => log.kind === 'nginx')).toBe(true)
  await curl(front + path, '-A', 'through nginx " 200 1 "-" "forged')
  await counted(7)
  expect((await stats()).recent[0]).toMatchObject({ client_type: 'other', ip: '127.0.0.1', status: 200, path })
  expect((await stats()).logs.every((log: { unreadable: number }) => log.unreadable === 0)).toBe(true)
})

it('the downloads of a package are in the review queue and in the details, for auditors and not for readers', async () => {
  const body = JSON.stringify([{ cveID: 'CVE-2026-3002' }])
  const signature = createHmac('sha256', 'another-secret-of-the-test-suites-0123').update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
  const reported = await fetch(`${service.api}/webhooks/kev`, { method: 'POST', body, headers })
  expect(reported.status).toBe(200)
  const [reader, uploader, auditor, maintainer] = await Promise.all(
    ['reader', 'uploader', 'auditor', 'maintainer'].map(as),
  )

  const queue = await service.call('GET', '/security/review-queue', undefined, auditor)
  expect(queue.body.items).toMatchObject([{ name: 'two', blast_radius: { days: 30, downloads: 7, clients: 1 } }])
  const [item] = queue.body.items
  expect(item.blast_radius.downloaded_by).toContainEqual(
    expect.objectContaining({ ip: '127.0.0.1', user_agent: APT, client_type: 'apt', version: '1.0-1', downloads: 1 }),
  )
  for (const one of [auditor, maintainer])
    expect((await service.call('GET', '/artifacts/two', undefined, one)).body.blast_radius).toMatchObject({
      ...{ downloads: 7, clients: 1, days: 30 },
    })
  for (const one of [reader, uploader]) {
    const details = await service.call('GET', '/artifacts/two', undefined, one)
    expect(details.body.blast_radius).toBeNull()
    expect(JSON.stringify(details.body)).not.toContain('127.0.0.1')
    expect((await service.call('GET', '/downloads/packages/two', undefined, one)).status).toBe(403)
  }
  expect((await service.call('GET', '/downloads/stats', undefined, auditor)).status).toBe(403)
  const all = await service.call('GET', '/downloads/packages/two?version=1.0-1&days=1', undefined, auditor)
  expect(all.body).toMatchObject({ name: 'two', format: 'deb', downloads: 7, clients: 1 })
  expect(all.body.per_day).toMatchObject([{ downloads: 7 }])
  const counts = await service.call('GET', '/downloads/packages/two?include_clients=false', undefined, auditor)
  expect(counts.body).toMatchObject({ downloads: 7, downloaded_by: [], total: 0 })

  // Downloads stay known when the package is deleted: that is when somebody asks.
  expect((await service.call('DELETE', '/artifacts/two')).status).toBe(200)
  const gone = await service.call('GET', '/downloads/packages/two', undefined, auditor)
  expect(gone.body).toMatchObject({ downloads: 7, total: all.body.total })
})

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
