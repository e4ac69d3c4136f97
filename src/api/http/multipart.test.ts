// Forms that are refused before their end, on connections that are used again.
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import multipart from '@fastify/multipart'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { invalidField } from '../../domain/problem.ts'
import { stage } from '../../intake/receive.ts'
import { readUploadForm } from './multipart.ts'

/** More than the socket buffers of both ends hold. */
const FILE_BYTES = 8 * 1024 * 1024

let app: FastifyInstance
let agent: Agent
let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multipart-'))
  agent = new Agent({ keepAlive: true, maxSockets: 1 })
  app = Fastify()
  await app.register(multipart)
  app.post<{ Querystring: { most: string } }>('/', async (raw) => {
    const most = Number(raw.query.most)
    return readUploadForm(raw, {
      maxBytes: most,
      store: async (file) => {
        await stage(file, join(directory, randomUUID()), most)
      },
      field(name) {
        if (name === 'refused') throw invalidField('refused', 'is refused')
      },
    })
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
})
afterEach(async () => {
  agent.destroy()
  await app.close()
  await rm(directory, { recursive: true, force: true })
})

function form(fields: Record<string, string>): Buffer {
  const texts = Object.entries(fields).map(
    ([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const head = `${texts.join('')}--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n`
  return Buffer.concat([Buffer.from(head), randomBytes(FILE_BYTES), Buffer.from('\r\n--b--\r\n')])
}

/** @returns the status, and whether the connection had served another request before */
function send(body: Buffer, most: number): Promise<{ status: number; reused: boolean }> {
  return new Promise((resolve, reject) => {
    const { port } = app.server.address() as AddressInfo
    // Chunked, so that no content length announces the size.
    const outgoing = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: `/?most=${most}`,
      agent,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    })
    outgoing.on('error', reject)
    let status = 0
    outgoing.on('response', (incoming) => void (status = incoming.resume().statusCode ?? 0))
    // Emitted once the answer is read and the whole form is sent.
    outgoing.on('close', () => resolve({ status, reused: outgoing.reusedSocket }))
    outgoing.end(body)
  })
}

test.each([
  ['a file that is too large', {}, 1024 * 1024],
  ['a field that is refused before the file', { refused: 'yes' }, Infinity],
] as [string, Record<string, string>, number][])(
  'after %s the connection serves the next request',
  async (_, fields, most) => {
    expect((await send(form(fields), most)).status).toBeGreaterThanOrEqual(400)
    expect(await send(form({}), Infinity)).toEqual({ status: 200, reused: true })
  },
)
