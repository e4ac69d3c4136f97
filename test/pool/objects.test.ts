// The pool in a real S3 server: stored objects, downloads of clients, and what happens while the server is down.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { poolUrl } from '../../src/config/pool-url.ts'
import { createObjectPool } from '../../src/store/files/object-pool.ts'
import { createPool, type FileId } from '../../src/store/files/pool.ts'
import { RemovalUncertain, type ObjectStore } from '../../src/store/objects/object-store.ts'
import { openS3 } from '../../src/store/objects/s3.ts'
import { createPaths, ensurePaths } from '../../src/store/paths.ts'
import { startObjectServer, type ObjectServer } from './object-server.ts'

let server: ObjectServer
let store: ObjectStore
let directory: string
beforeAll(async () => {
  server = await startObjectServer()
  store = openS3(poolUrl.parse(server.env['POOL_URL'] as string), server.credentials)
  directory = await mkdtemp(join(tmpdir(), 'object-pool-'))
})
afterAll(async () => {
  store?.close()
  await server?.remove()
  await rm(directory, { recursive: true, force: true })
})

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function fileOf(bytes: Uint8Array): Promise<{ path: string; sha256: string }> {
  const path = join(directory, randomBytes(6).toString('hex'))
  await writeFile(path, bytes)
  return { path, sha256: sha256Of(bytes) }
}

describe('the object store', () => {
  test.each([
    ['empty', 0],
    ['small', 1000],
    ['sent in parts', 17 * 1024 * 1024 + 1],
  ])('returns the bytes of a file that is %s, and ranges of them', async (_, length) => {
    const bytes = randomBytes(length)
    const { path, sha256 } = await fileOf(bytes)
    await store.put(`deb/${sha256}`, path, sha256)
    expect(await store.size(`deb/${sha256}`)).toBe(length)
    const whole = await store.get(`deb/${sha256}`)
    expect(sha256Of(await buffer(whole!.stream))).toBe(sha256)
    if (length === 0) return
    const part = await store.get(`deb/${sha256}`, { first: 10, last: 19 })
    expect(await buffer(part!.stream)).toEqual(bytes.subarray(10, 20))
    await store.remove(`deb/${sha256}`)
    expect(await store.size(`deb/${sha256}`)).toBe(null)
    expect(await store.get(`deb/${sha256}`)).toBe(null)
    await store.remove(`deb/${sha256}`)
  })

  test.each([1000, 9 * 1024 * 1024])('stores nothing of %i bytes that have another digest', async (length) => {
    const { path } = await fileOf(randomBytes(length))
    const other = sha256Of(randomBytes(8))
    await expect(store.put(`deb/${other}`, path, other)).rejects.toThrow('no longer has the SHA-256')
    expect(await store.size(`deb/${other}`)).toBe(null)
  })

  test('gives addresses that lead to one object only', async () => {
    const [one, two] = [await fileOf(Buffer.from('one')), await fileOf(Buffer.from('two'))]
    for (const { path, sha256 } of [one, two]) await store.put(`deb/${sha256}`, path, sha256)
    const address = await store.signedUrl(`deb/${one.sha256}`, 60, 'text/x-test')
    const answer = await fetch(address)
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/x-test',
      'one',
    ])
    expect((await fetch(address.replace(one.sha256, two.sha256))).status).toBe(403)
    expect((await fetch(address, { method: 'DELETE' })).status).toBe(403)
  })

  test('lists its packages in pages, in the order of their keys', async () => {
    const files = await Promise.all(['x', 'y', 'z'].map((text) => fileOf(Buffer.from(text))))
    for (const { path, sha256 } of files) await store.put(`rpm/${sha256}`, path, sha256)
    const sorted = files
      .map(({ sha256 }) => ({ key: `rpm/${sha256}`, sizeBytes: 1 }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
    expect(await store.list('rpm/', '')).toEqual({ objects: sorted, isLast: true })
    expect(await store.list('rpm/', sorted[0]!.key)).toEqual({ objects: sorted.slice(1), isLast: true })
    expect(await store.list('rpm/', sorted[2]!.key)).toEqual({ objects: [], isLast: true })
    expect(await store.list('none/', '')).toEqual({ objects: [], isLast: true })
  })

  test('knows whether a removal that failed may still be carried out', async () => {
    const { path, sha256 } = await fileOf(Buffer.from('kept'))
    await store.put(`deb/${sha256}`, path, sha256)
    await server.kill()
    // An earlier connection is found broken, and nobody knows when it broke.
    await store.remove(`deb/${sha256}`).catch(() => null)
    const failure = await store.remove(`deb/${sha256}`).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'storage_unavailable' })
    expect(failure).not.toBeInstanceOf(RemovalUncertain)
    await server.start()
    expect(await store.size(`deb/${sha256}`)).toBe(4)
    const dead = server.killAfter('received', 1)
    await expect(store.remove(`deb/${sha256}`)).rejects.toBeInstanceOf(RemovalUncertain)
    await dead
    await server.start()
  })

  test.each([
    ['credentials that are wrong', '', { secretAccessKey: 'another-secret' }],
    ['a bucket that does not exist', 'missing', {}],
  ])('refuses %s without naming the secret', async (_, bucket, changes) => {
    const url = poolUrl.parse(server.env['POOL_URL'] as string)
    const wrong = openS3({ ...url, bucket: bucket || url.bucket }, { ...server.credentials, ...changes })
    const error = await wrong.check().then(
      () => null,
      (failure: Error) => failure,
    )
    expect(error).toMatchObject({ code: 'storage_unavailable', isRefusal: true })
    expect(inspect(error)).not.toContain('secret')
    wrong.close()
  })
})

describe('the pool', () => {
  async function makePool() {
    const paths = createPaths(await mkdtemp(join(directory, 'repos-')))
    await ensurePaths(paths, [])
    const local = createPool(paths)
    const newPath = () => join(paths.incoming, randomBytes(6).toString('hex'))
    return { paths, local, pool: createObjectPool({ store, local, newPath }) }
  }

  test('carries bytes between the store and quarantine, and removes them from both', async () => {
    const { pool, local, paths } = await makePool()
    const bytes = randomBytes(5000)
    const { path, sha256 } = await fileOf(bytes)
    const file: FileId = { format: 'deb', sha256, filename: 'a_1_amd64.deb' }
    expect(await pool.carry(file, 'quarantine')).toBe(false)
    await pool.hold(path, file, 'pool').ensure()
    expect([await pool.has(file), await pool.hasQuarantined(file)]).toEqual([true, false])
    expect(await pool.carry(file, 'quarantine')).toBe(true)
    await pool.leave('pool', file)
    expect([await pool.has(file), await pool.hasQuarantined(file)]).toEqual([false, true])
    expect(await readFile(local.quarantinePath(file))).toEqual(bytes)
    expect(await pool.withFile(file, (at) => readFile(at))).toEqual(bytes)
    expect(await pool.carry(file, 'pool')).toBe(true)
    expect(await pool.withFile(file, (at) => readFile(at))).toEqual(bytes)
    await pool.forgetAll('deb', sha256)
    expect([await pool.has(file), await pool.hasQuarantined(file)]).toEqual([false, false])
    expect(await readdir(paths.incoming)).toEqual([])
    expect(await readdir(paths.pool)).toEqual([])
  })

  test('gives no caller an object whose bytes were changed', async () => {
    const { pool, paths } = await makePool()
    const { path, sha256 } = await fileOf(randomBytes(100))
    const file: FileId = { format: 'deb', sha256, filename: 'a_1_amd64.deb' }
    await pool.keep(path, file)
    await writeFile(server.pathOf(`deb/${sha256}`), randomBytes(100))
    await expect(pool.withFile(file, async () => 'used')).rejects.toThrow('has other bytes than its name says')
    expect(await readdir(paths.incoming)).toEqual([])
  })

  test('links a package by its object, replaces the link of another, and refuses a missing object', async () => {
    const { pool } = await makePool()
    const [one, two] = [await fileOf(Buffer.from('1')), await fileOf(Buffer.from('22'))]
    const target = join(directory, 'tree-file')
    const id = (sha256: string): FileId => ({ format: 'apk', sha256, filename: 'a.apk' })
    for (const { path, sha256 } of [one, two]) await pool.keep(path, id(sha256))
    expect(await pool.publish(id(one.sha256), target)).toBe(true)
    expect(await pool.publish(id(one.sha256), target)).toBe(false)
    expect(await readlink(target)).toBe(`object:apk/${one.sha256}/1`)
    expect(await pool.publish(id(two.sha256), target)).toBe(true)
    expect(await readlink(target)).toBe(`object:apk/${two.sha256}/2`)
    await expect(pool.publish(id('a'.repeat(64)), target)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
