// `npm audit signatures` through a proxy: signatures of an upstream, and its provenance; and `npm publish` with provenance.
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startNpm } from '../contract/npm.ts'
import { startNpmRegistry, type NpmRegistry } from '../fakes/npm-registry.ts'
import { PUBLISH, registryKey, SLSA, startSigstore, type Sigstore } from '../fakes/sigstore.ts'
import { startTuf } from '../fakes/tuf.ts'
import { prepareMachine, type Machine, type Project } from './npm/clients.ts'

let at: Awaited<ReturnType<typeof startNpm>>
let machine: Machine
let upstream: NpmRegistry
let sigstore: Sigstore
let tuf: Awaited<ReturnType<typeof startTuf>>
let directory: string
const key = registryKey()
const NAMES = ['lib', '@acme/scoped']

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'npm-signatures-'))
  ;[sigstore, upstream] = await Promise.all([startSigstore(), startNpmRegistry()])
  tuf = await startTuf(sigstore.root)
  await writeFile(join(directory, 'root.json'), sigstore.root)
  at = await startNpm({ env: { SIGSTORE_TRUSTED_ROOT: join(directory, 'root.json') } })
  machine = await prepareMachine()
  const send = (path: string, body: unknown) => upstream.lie(path, (_, response) => response.end(JSON.stringify(body)))
  send('-/npm/v1/keys', { keys: [key.listed] })
  for (const name of NAMES) {
    let integrity = ''
    const dist = (own: string) => {
      integrity = own
      const signatures = [key.signatureOf(`${name}@1.0.0:${own}`)]
      return { signatures, attestations: { url: 'https://elsewhere.test/', provenance: { predicateType: SLSA } } }
    }
    await upstream.put(name, { '1.0.0': { time: '2020-01-01T00:00:00Z', dist } })
    const sha512 = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
    const subject = [{ name: `pkg:npm/${name.replace('@', '%40')}@1.0.0`, digest: { sha512 } }]
    const published = await sigstore.attest({ subject, predicateType: PUBLISH }, { by: key.by })
    const built = await sigstore.attest({ subject })
    const attestations = [
      { predicateType: PUBLISH, bundle: published },
      { predicateType: SLSA, bundle: built },
    ]
    send(`-/npm/v1/attestations/${name}@1.0.0`, { attestations })
  }
  const proxy = { format: 'npm', name: 'world', kind: 'proxy', public: true, upstream: { url: upstream.url } }
  const group = { format: 'npm', name: 'both', kind: 'group', public: true, members: ['open', 'world'] }
  for (const body of [proxy, group]) expect((await at.gate.call('POST', '/registries', { body })).status).toBe(201)
})
afterAll(async () => {
  await at?.gate.close()
  await machine?.close()
  await Promise.all([upstream?.close(), tuf?.close()])
  await rm(directory, { recursive: true, force: true })
})

const dependencies = Object.fromEntries(NAMES.map((name) => [name, '1.0.0']))

async function installed(client: 'npm10' | 'npm11', repo: string): Promise<Project> {
  const address = `http://127.0.0.1:${at.gate.port}/npm/${repo}/`
  const project = await machine.project(address, null, { dependencies })
  const { code, text } = await project.run(client, ['install'])
  expect(code, text).toBe(0)
  return project
}

test.each(['npm10', 'npm11'] as const)('%s verifies what the proxy passes on', async (client) => {
  for (const repo of ['world', 'both']) {
    const project = await installed(client, repo)
    const env = await tuf.prepare(`${project.directory}-home`)
    const { code, text } = await project.run(client, ['audit', 'signatures'], { env })
    expect(code, text).toBe(0)
    expect(text).toContain('2 packages have verified registry signatures')
    expect(text).toContain('2 packages have verified attestations')
  }
})

test('npm 11 tells of a package that the upstream does not sign', async () => {
  await upstream.put('unsigned', { '1.0.0': { time: '2020-01-01T00:00:00Z' } })
  const project = await installed('npm11', 'world')
  expect((await project.run('npm11', ['install', 'unsigned'])).code).toBe(0)
  const env = await tuf.prepare(`${project.directory}-home`)
  const { code, text } = await project.run('npm11', ['audit', 'signatures'], { env })
  expect([code, text]).toEqual([
    1,
    expect.stringMatching(/1 package has a missing registry signature[^]*unsigned@1\.0\.0/),
  ])
})

test.each(['npm10', 'npm11'] as const)('%s publishes with provenance', async (client) => {
  const name = `built-${client}`
  const address = `http://127.0.0.1:${at.gate.port}/npm/team/`
  const project = await machine.project(address, at.uploader, { name, version: '1.0.0', private: false })
  expect((await project.run(client, ['pack'])).code).toBe(0)
  const file = join(project.directory, `${name}-1.0.0.tgz`)
  const sha512 = createHash('sha512')
    .update(await readFile(file))
    .digest('hex')
  const bundle = await sigstore.attest({ subject: [{ name: `pkg:npm/${name}@1.0.0`, digest: { sha512 } }] })
  await writeFile(join(project.directory, 'built.sigstore'), JSON.stringify(bundle))
  const env = await tuf.prepare(`${project.directory}-home`)
  const { code, text } = await project.run(client, ['publish', file, '--provenance-file=built.sigstore'], { env })
  expect(code, text).toBe(0)
  const { body } = await at.get(`team/-/npm/v1/attestations/${name}@1.0.0`)
  expect(body).toEqual({ attestations: [{ predicateType: SLSA, bundle }] })
})
