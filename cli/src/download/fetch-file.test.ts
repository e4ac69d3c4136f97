// What a repository may do to a download: the file is there whole, or not at all.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { fetchFile, readWhole } from './fetch-file.ts'

const BYTES = Buffer.alloc(100_000, 'package')
const WANTED = { sha256: createHash('sha256').update(BYTES).digest('hex'), size: BYTES.length }
const { signal } = new AbortController()

function* endlessly(): Generator<Buffer> {
  for (;;) yield BYTES
}

/** What it does, by path. */
const ANSWERS: Record<string, (response: ServerResponse) => void> = {
  '/whole': (response) => response.end(BYTES),
  '/other': (response) => response.end(Buffer.alloc(BYTES.length, 'another')),
  '/hang-up': (response) => {
    response.writeHead(200, { 'content-length': BYTES.length })
    response.write(BYTES.subarray(0, 50_000), () => response.destroy())
  },
  '/endless': (response) => {
    Readable.from(endlessly()).pipe(response)
  },
  '/elsewhere': (response) => response.writeHead(302, { location: '/whole' }).end(),
}
const server = createServer(({ url = '' }, response) => ANSWERS[url]?.(response))
let base: string
let directory: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fetch-file-'))
})
afterEach(() => rm(directory, { recursive: true }))

test('a whole file gets its name', async () => {
  await fetchFile(fetch, `${base}/whole`, join(directory, 'a'), WANTED, signal)
  expect((await readFile(join(directory, 'a'))).equals(BYTES)).toBe(true)
})

test.each([
  ['/other', 'is not the file that the API knows', 3],
  ['/endless', 'is not the file that the API knows', 3],
  ['/hang-up', 'broke off', 1],
  ['/elsewhere', 'answered 302', 1],
])('%s is refused, and nothing stays', async (path, detail, exit) => {
  await expect(fetchFile(fetch, `${base}${path}`, join(directory, 'a'), WANTED, signal)).rejects.toMatchObject({
    name: 'Failure',
    detail: expect.stringContaining(detail) as string,
    exit,
  })
  expect(await readdir(directory)).toEqual([])
})

test('an index that breaks off is named', async () => {
  await expect(readWhole(fetch, `${base}/hang-up`, signal)).rejects.toMatchObject({ name: 'Failure', exit: 1 })
})
