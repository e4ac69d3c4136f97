// The scripts printed in docs/ci.md, run by a shell with real curl against an issuer on loopback: they succeed only for
// published packages, also when repeated.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { eicar, startFakeClamd } from '../fakes/clamd.ts'
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
/** working directory of the job */
let directory: string
let temporary: string
let clamd: Awaited<ReturnType<typeof startFakeClamd>>
let jobs: Job[]
beforeAll(async () => {
  need('curl')
  const page = await readFile(join(import.meta.dirname, '../../docs/ci.md'), 'utf8')
  jobs = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => parse(text) as Job)
  issuer = await startIssuer()
  clamd = await startFakeClamd()
  service = await startService({
    env: {
      OUTBOUND_ALLOWED_HOSTS: '127.0.0.1',
      CLAMAV_HOST: clamd.address.host,
      CLAMAV_PORT: String(clamd.address.port),
    },
  })
  // GitHub's endpoint for ID tokens; a job authenticates with a secret of the run.
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
  temporary = await mkdtemp(join(tmpdir(), 'gatehouse-ci-runner-'))
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
  await clamd?.close()
  provider?.close()
  await removeTemporary()
  for (const path of [directory, temporary]) await rm(path, { recursive: true, force: true })
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

/** Runs a script like a runner: an empty machine except for Node and curl, and the build's output in `dist`. */
async function run([program, ...options]: [string, ...string[]], script: string, env: Record<string, string>) {
  const child = spawn(program, [...options, script], {
    cwd: directory,
    env: { ...process.env, GATEHOUSE_URL: service.api, XDG_CONFIG_HOME: join(directory, 'config'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (part) => (output += String(part)))
  child.stderr.on('data', (part) => (errors += String(part)))
  const [code] = (await once(child, 'close')) as [number | null]
  // Result, file and distribution; the fourth column is a sentence.
  const lines = output.split('\n').filter((line) => line.includes('\t'))
  return { code, output, errors, results: lines.map((line) => line.split('\t').slice(0, 3).join(' ')).sort() }
}

/** Puts the build's output into `dist`. */
async function built(...packages: [name: string, options?: object][]): Promise<void> {
  await rm(join(directory, 'dist'), { recursive: true, force: true })
  await mkdir(join(directory, 'dist'))
  for (const [name, options] of packages)
    await writeFile(join(directory, 'dist', `${name}.deb`), await buildDeb({ name, ...options }))
}

const INFECTED = { files: { './usr/share/eicar': eicar() } }

/** Runs the job for GitHub Actions, like runners do for `run` on Linux. */
function onGitHub() {
  const script = jobs[0]?.jobs?.publish.steps.find(({ name }) => name === 'Publish')?.run ?? ''
  return run(['bash', '-e', '-c'], script, {
    DISTRIBUTION: 'noble',
    RUNNER_TEMP: temporary,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'secret-of-the-run',
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/token?run=7`,
  })
}

/** Runs the job for GitLab. Its shell is busybox on Alpine, which supports `pipefail` like bash. */
function onGitLab(token: string) {
  const job = jobs[1]?.publish
  const [variable = ''] = Object.keys(job?.id_tokens ?? {})
  return run(['bash', '-c'], job?.script.join('\n') ?? '', { DISTRIBUTION: 'jammy', [variable]: token })
}

it('the job for GitHub Actions publishes, and is green again when it runs again', async () => {
  await built(['acme-one'], ['acme-two'])
  expect(jobs[0]?.permissions).toMatchObject({ 'id-token': 'write' })
  const first = await onGitHub()
  expect([first.code, first.results], first.errors).toEqual([
    0,
    ['published dist/acme-one.deb noble', 'published dist/acme-two.deb noble'],
  ])
  await built(['acme-one'], ['acme-two'], ['acme-three'])
  const second = await onGitHub()
  expect([second.code, second.results], second.errors).toEqual([
    0,
    [
      ...['already_there dist/acme-one.deb noble', 'already_there dist/acme-two.deb noble'],
      'published dist/acme-three.deb noble',
    ],
  ])
  expect((await service.call('GET', '/distributions/noble/packages')).body.total).toBe(3)
})

it('the job for GitLab publishes, is green again, and fails for another project', async () => {
  await built(['acme-one'], ['acme-two'])
  const first = await onGitLab(await idToken(service.api))
  expect([first.code, first.results], first.errors).toEqual([
    0,
    ['published dist/acme-one.deb jammy', 'published dist/acme-two.deb jammy'],
  ])
  const second = await onGitLab(await idToken(service.api))
  expect([second.code, second.results.map((line) => line.split(' ')[0])]).toEqual([
    0,
    ['already_there', 'already_there'],
  ])
  const other = await onGitLab(await idToken(service.api, '666'))
  expect([other.code === 0, other.results, other.errors]).toEqual([
    false,
    [],
    expect.stringMatching(/\[unauthorized\]/),
  ])
})

it('a job of several commands signs in once, because its ID token works once', async () => {
  await built(['acme-several'])
  const command = 'node gatehouse.mjs'
  const script = `curl -fsSO "$GATEHOUSE_URL/cli/gatehouse.mjs"
    ${command} ci-login
    ${command} whoami
    ${command} upload dist/*.deb -d jammy`
  const ran = await run(['bash', '-e', '-c'], script, { GATEHOUSE_ID_TOKEN: await idToken(service.api) })
  expect([ran.code, ran.results], ran.errors).toEqual([0, ['published dist/acme-several.deb jammy']])
  expect(ran.output).toContain('only actions: upload')
  expect(ran.output + ran.errors).not.toContain('svc_')
  await rm(join(directory, 'config'), { recursive: true })
})

it('both jobs are red for malware, at the second run too, and send the other files', async () => {
  await built(['acme-bad', INFECTED], ['acme-good'])
  for (const job of [onGitHub, async () => onGitLab(await idToken(service.api))])
    for (const good of ['published', 'already_there']) {
      const { code, results } = await job()
      expect([code, results.map((line) => line.split(' ').slice(0, 2).join(' '))]).toEqual([
        3,
        [`${good} dist/acme-good.deb`, 'quarantined dist/acme-bad.deb'].sort(),
      ])
    }
})

it('both jobs are red for other bytes of a version that is published', async () => {
  await built(['acme-one', { files: { './usr/share/other': 'x' } }])
  for (const job of [onGitHub, async () => onGitLab(await idToken(service.api))])
    expect(await job()).toMatchObject({ code: 3, results: [expect.stringMatching(/^failed /)] })
})
