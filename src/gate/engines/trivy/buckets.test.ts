// The names of the buckets of trivy's database, of a real one and of damaged ones.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readBuckets } from './buckets.ts'
import { DATABASE } from './recorded.fixture.ts'

let directory: string
let path: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'trivy-buckets-'))
  path = join(directory, 'trivy.db')
})
beforeEach(() => writeFile(path, DATABASE))
afterAll(() => rm(directory, { recursive: true, force: true }))

describe('the buckets of its database', () => {
  test('are read from a real database', async () => {
    expect([...(await readBuckets(path))].sort()).toEqual([
      'Red Hat',
      'Red Hat CPE',
      'data-source',
      'debian 12',
      'openSUSE Leap 15.6',
      'rocky 9',
      'ubuntu 22.04',
      'vulnerability',
    ])
  })

  test('are not read from a damaged database, and reading always ends', async () => {
    const refused = { name: 'UnreadableOutput' }
    for (const bytes of [
      Buffer.alloc(0),
      DATABASE.subarray(0, 50),
      DATABASE.subarray(0, 5000),
      Buffer.alloc(70_000),
      Buffer.alloc(70_000, 0xff),
    ]) {
      await writeFile(path, bytes)
      await expect(readBuckets(path)).rejects.toMatchObject(refused)
    }
    for (let at = 0; at < DATABASE.length; at += 331) {
      const damaged = Buffer.from(DATABASE)
      damaged.fill(0xff, at, at + 8)
      await writeFile(path, damaged)
      await readBuckets(path).catch((error: unknown) => expect(error).toMatchObject(refused))
    }
    await rm(path)
    await expect(readBuckets(path)).rejects.toMatchObject({
      ...refused,
      message: 'the database of trivy cannot be opened: ENOENT',
    })
  })
})
