// A credential that is revoked during its upload publishes nothing, whatever kind it was and however it was revoked.
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startIssuer, type Issuer } from '../fakes/issuer.ts'
import { buildDeb } from '../samples/deb.ts'
import { ROOT, startGate, type Gate } from './harness.ts'
import { form, type Reply } from './http.ts'

let gate: Gate
let issuer: Issuer
beforeAll(async () => {
  issuer = await startIssuer()
  gate = await startGate({ env: { OUTBOUND_ALLOWED_HOSTS: '127.0.0.1' } })
})
afterAll(async () => {
  await gate?.close()
  await issuer?.close()
})

const admin = async (method: string, path: string, body?: object) => {
  const { status, body: answer, text } = await gate.call(method, path, { as: await gate.login(ROOT), body })
  if (status >= 300) throw new Error(`${method} ${path}: ${text}`)
  return answer
}
const person = async (username: string) => {
  await admin('POST', '/auth/users', { username, password: 'Contract-pass-1', role: 'uploader' })
  return gate.login(username)
}
/** A token of a new person. */
const token = async (name: string) => {
  const owner = `owner-${name}`
  await person(owner)
  await admin('PATCH', `/auth/users/${owner}`, { role: 'admin' })
  const made = await gate.call<{ token: string; token_id: string }>('POST', '/auth/api-tokens', {
    as: await gate.login(owner),
    body: { name, role: 'uploader' },
  })
  await admin('PATCH', `/auth/users/${owner}`, { role: 'uploader' })
  return { ...made.body, owner }
}
const publish = (publishers: object[]) => admin('PATCH', '/settings/', { trusted_publishing: { publishers } })
const publisher = (name: string, more: object = {}) => ({
  ...{ name, issuer: issuer.url, audience: 'gatehouse', claims: { repository_id: name }, role: 'uploader' },
  ...more,
})
/** The token of a job of this publisher. */
const job = async (name: string, more: object = {}) => {
  await publish([publisher(name, more)])
  const now = Math.floor(gate.clock.now().getTime() / 1000)
  const claims = { iss: issuer.url, aud: 'gatehouse', sub: 's', repository_id: name, iat: now, exp: now + 300 }
  const body = { token: await issuer.sign({ ...claims, jti: name }) }
  const answer = await gate.call<{ token: string; token_id: string }>('POST', '/auth/oidc/exchange', { as: null, body })
  expect(answer.status).toBe(201)
  return answer.body
}

/** Sends half of an upload, runs `meanwhile`, and sends the rest. */
async function upload(name: string, as: string, path: string, meanwhile: () => Promise<unknown>) {
  const { body, headers } = form([
    { name: 'distribution', value: 'jammy' },
    { name: 'file', value: await buildDeb({ name }), filename: 'sample.deb' },
  ])
  const sent = { ...headers, 'content-length': body.length, authorization: `Bearer ${as}`, expect: '100-continue' }
  const outgoing = request({ host: '127.0.0.1', port: gate.port, method: 'POST', path, headers: sent, agent: false })
  const answered = once(outgoing, 'response')
  outgoing.flushHeaders()
  // The server has admitted the request.
  await once(outgoing, 'continue')
  outgoing.write(body.subarray(0, body.length / 2))
  await meanwhile()
  outgoing.end(body.subarray(body.length / 2))
  const [incoming] = (await answered) as [import('node:http').IncomingMessage]
  let text = ''
  for await (const part of incoming) text += String(part)
  return { status: incoming.statusCode, headers: incoming.headers, body: JSON.parse(text) as Reply['body'] }
}

/** Files of running uploads, of all processes. */
const staged = async () => {
  const directory = join(gate.reposDir, 'staging', 'incoming')
  const processes = await readdir(directory)
  return (await Promise.all(processes.map((one) => readdir(join(directory, one))))).flat()
}

type Case = [name: string, status: number, begin: () => Promise<[credential: string, end: () => Promise<unknown>]>]
const CASES: Case[] = [
  [
    'session-ended',
    401,
    async () => {
      const as = await person('gone')
      return [as, () => gate.call('POST', '/auth/logout', { as })]
    },
  ],
  [
    'session-disabled',
    401,
    async () => [await person('disabled'), () => admin('PATCH', '/auth/users/disabled', { active: false })],
  ],
  ['session-deleted', 401, async () => [await person('deleted'), () => admin('DELETE', '/auth/users/deleted')]],
  [
    'session-lowered',
    403,
    async () => [await person('lowered'), () => admin('PATCH', '/auth/users/lowered', { role: 'reader' })],
  ],
  [
    'token-revoked',
    401,
    async () => {
      const { token: as, token_id: id } = await token('revoked')
      return [as, () => admin('DELETE', `/auth/api-tokens/${id}`)]
    },
  ],
  [
    'token-of-disabled',
    401,
    async () => {
      const { token: as, owner } = await token('of-disabled')
      return [as, () => admin('PATCH', `/auth/users/${owner}`, { active: false })]
    },
  ],
  [
    'token-of-lowered',
    403,
    async () => {
      const { token: as, owner } = await token('of-lowered')
      return [as, () => admin('PATCH', `/auth/users/${owner}`, { role: 'auditor' })]
    },
  ],
  [
    'job-revoked',
    401,
    async () => {
      const { token: as, token_id: id } = await job('revoked-job')
      return [as, () => admin('DELETE', `/auth/api-tokens/${id}`)]
    },
  ],
  ['job-unpublished', 401, async () => [(await job('unpublished')).token, () => publish([])]],
  [
    'job-lowered',
    403,
    async () => [(await job('lowered-job')).token, () => publish([publisher('lowered-job', { role: 'reader' })])],
  ],
  [
    'job-narrowed',
    401,
    async () => [
      (await job('narrowed', { scopes: { names: ['job-*'] } })).token,
      () => publish([publisher('narrowed', { scopes: { names: ['other-*'] } })]),
    ],
  ],
]

test.each(CASES)('%s: the upload answers %i and keeps nothing', async (name, status, begin) => {
  // Every second case as a stream, which has not begun its answer at that point.
  const path = CASES.findIndex(([one]) => one === name) % 2 ? '/api/v1/upload/stream' : '/api/v1/upload'
  const [as, end] = await begin()
  const reply = await upload(name, as, path, end)
  const code = status === 401 ? 'unauthorized' : 'forbidden'
  expect([reply.status, reply.body['code'], reply.headers['www-authenticate']]).toEqual([
    ...[status, code],
    status === 401 ? 'Bearer' : undefined,
  ])
  const asRoot = { as: await gate.login(ROOT) }
  expect((await gate.call('GET', `/artifacts/${name}`, asRoot)).status).toBe(404)
  expect(await staged()).toEqual([])
  const { items } = (await gate.call<{ items: object[] }>('GET', '/artifacts/audit/logs?action=upload', asRoot)).body
  expect(items[0]).toMatchObject({ result: 'FAILURE', outcome: code })
})

test('a credential that is as it was publishes, also when something else of its owner changed', async () => {
  const as = await person('unchanged')
  const change = () => admin('PATCH', '/auth/users/unchanged', { role: 'maintainer', full_name: 'Promoted' })
  expect(await upload('unchanged', as, '/api/v1/upload', change)).toMatchObject({ status: 201 })
})
