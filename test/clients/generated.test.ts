// Clients that openapi-python-client and oapi-codegen make from the document that a service offers: each uploads a package,
// waits until it is under review, approves it and finds it.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { need } from '../need.ts'
import { buildDeb } from '../samples/deb.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

const SCRIPTS = join(import.meta.dirname, 'generated')

let service: Service
let directory: string
let document: string

beforeAll(async () => {
  need('python3-venv')
  directory = await mkdtemp(join(tmpdir(), 'generated-'))
  service = await startService()
  // Without a scanner, every package then waits for a decision.
  await service.call('PATCH', '/settings', { validation: { on_unscanned: 'hold' } })
  const { body } = await service.call('GET', '/openapi.json')
  document = join(directory, 'openapi.json')
  await writeFile(document, JSON.stringify(body))
})

afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

test.each([
  ['openapi-python-client', 'python.sh', 'made-by-python'],
  ['oapi-codegen', 'go.sh', 'made-by-go'],
])('a client of %s uploads, waits, decides and searches', async (_, script, name) => {
  const file = join(directory, `${name}.deb`)
  await writeFile(file, await buildDeb({ name }))
  const created = await service.call('POST', '/auth/api-tokens', { name, role: 'maintainer' })
  const env = { ...process.env, GATEHOUSE_URL: service.api, GATEHOUSE_TOKEN: created.body.token as string }
  const args = [document, join(directory, name.replaceAll('-', '_')), file, name]
  const { stdout } = await promisify(execFile)(join(SCRIPTS, script), args, { env, maxBuffer: 2 ** 26 })
  expect(stdout.trim().split('\n').slice(-4)).toEqual([
    'upload: pending_review',
    'queue: 1',
    'decision: published',
    `search: ${name} 1.0-1 published served`,
  ])
  const shown = await service.call('GET', `/artifacts/${name}`)
  expect(shown.body).toMatchObject({ manifest_status: 'published', decision: { decided_by: `token:${name}` } })
})
