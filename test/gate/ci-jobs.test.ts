// The scripts of docs/ci.md, as printed there, run by a shell with real curl and jq against an issuer on loopback.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { startIssuer, type Issuer } from '../fakes/issuer.ts'
import { need } from '../need.ts'
import { buildDeb } from '../samples/deb.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

interface Job {
  id_tokens?: object
  permissions?: object
  jobs?: { publish: { steps: { name?: string; run?: string }[] } }
  publish?: { id_tokens: Record<string, { aud: string }>; script: string[] }
}

let issuer: Issuer
let service: Service
let provider: Server
let directory: string
let jobs: Job[]
beforeAll(async () => {
  need('curl', 'jq')
  const page = await readFile(join(import.meta.dirname, '../../docs/ci.md'), 'utf8')
  jobs = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => parse(text) as Job)
  issuer = await startIssuer()
  service = await startService({ env: { OUTBOUND_ALLOWED_HOSTS: '127.0.0.1' } })
  // GitHub's endpoint for ID tokens, which a job asks with a secret of the run.
  provider = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    const isAllowed =
      request.headers.authorization === 'Bearer secret-of-the-run' && url.searchParams.get('run') === '7'
    void idToken(url.searchParams.get('audience') ?? '').then((value) =>
      response.writeHead(isAllowed ? 200 : 401).end(JSON.stringify({ count: 1, value })),
    )
  })
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-ci-'))
  await mkdir(join(directory, 'dist'))
  for (const name of ['acme-one', 'acme-two'])
    await writeFile(join(directory, 'dist', `${name}.deb`), await buildDeb({ name }))
  const publisher = {
    name: 'tools-release',
    issuer: issuer.url,
    audience: service.api,
    claims: { repository_id: '123456789' },
    role: 'uploader',
    scopes: { actions: ['upload'], distributions: ['noble', 'jammy'], names: ['acme-*'] },
  }
  const set = await service.call('PATCH', '/settings/', { trusted_publishing: { publishers: [publisher] } })
  expect(set.status).toBe(200)
})
afterAll(async () => {
  await service?.stop()
  await issuer?.close()
  provider?.close()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

const idToken = (aud: string, repository_id = '123456789') => {
  const now = Math.floor(Date.now() / 1000)
  return issuer.sign({
    iss: issuer.url,
    aud,
    sub: 's',
    repository_id,
    iat: now,
    exp: now + 300,
    jti: String(Math.random()),
  })
}

async function run([program, ...options]: [string, ...string[]], script: string, env: Record<string, string>) {
  const child = spawn(program, [...options, script], {
    cwd: directory,
    env: { PATH: process.env['PATH'], GATEHOUSE: service.api, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (part) => (output += String(part)))
  child.stderr.on('data', (part) => (output += String(part)))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

it('the job for GitHub Actions publishes', async () => {
  const script = jobs[0]?.jobs?.publish.steps.find(({ name }) => name === 'Publish')?.run ?? ''
  expect(jobs[0]?.permissions).toMatchObject({ 'id-token': 'write' })
  // As runners do for `run` on Linux.
  const { code, output } = await run(['bash', '-e', '-c'], script, {
    DISTRIBUTION: 'noble',
    RUNNER_TEMP: directory,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'secret-of-the-run',
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/token?run=7`,
  })
  expect([code, output.replace(/::add-mask::svc_.*\n/, '')], output).toEqual([
    0,
    'acme-one 1.0-1: published\nacme-two 1.0-1: published\n',
  ])
  expect(output.startsWith('::add-mask::svc_')).toBe(true)
  expect((await service.call('GET', '/distributions/noble/packages')).body.total).toBe(2)
})

it('the job for GitLab publishes, and fails for another project', async () => {
  const job = jobs[1]?.publish
  const script = job?.script.join('\n') ?? ''
  const [variable = ''] = Object.keys(job?.id_tokens ?? {})
  // Its shell is busybox on Alpine, which knows `pipefail` as bash does.
  const attempt = async (token: string) => run(['bash', '-c'], script, { DISTRIBUTION: 'jammy', [variable]: token })
  expect(await attempt(await idToken(service.api))).toEqual({
    code: 0,
    output: 'acme-one 1.0-1: published\nacme-two 1.0-1: published\n',
  })
  const other = await attempt(await idToken(service.api, '666'))
  expect([other.code === 0, other.output]).toEqual([false, expect.stringMatching(/401/)])
})
