import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zip } from '../../../formats/archive/zip.fixture.ts'
import { affects, compareDotted, memoryAdvisories, record, zipOfRecords } from './advisories.fixture.ts'
import { createOsvImporter } from './import.ts'

let root: string
let work: string
let server: Server
let url: string
const served = new Map<string, Buffer>()
const asked: string[] = []
/** true: the request is left without an answer */
let atRequest = (): boolean => false
let atBegin = (): void => {}
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gatehouse-osv-'))
  work = join(root, 'work')
  await mkdir(work)
  server = createServer((request, response) => {
    asked.push(request.url!)
    if (atRequest()) return
    const body = served.get(request.url!)
    response.writeHead(body ? 200 : 404).end(body ?? '<html>not found</html>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bucket`
})
afterAll(async () => {
  server.close()
  await rm(root, { recursive: true })
})
beforeEach(() => {
  served.clear()
  asked.length = 0
  atRequest = () => false
  atBegin = () => {}
})

let now = new Date('2026-05-01T00:00:00Z')
const clock = { now: () => now }

function setUp(distros?: string[]) {
  now = new Date('2026-05-01T00:00:00Z')
  const advisories = memoryAdvisories(clock)
  const download = async (from: string, to: string, signal?: AbortSignal) => {
    const response = await fetch(from, signal ? { signal } : {})
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    await writeFile(to, Buffer.from(await response.arrayBuffer()))
  }
  const importer = createOsvImporter({
    advisories: {
      ...advisories,
      begin(feed) {
        atBegin()
        return advisories.begin(feed)
      },
    },
    compare: compareDotted,
    clock,
    download,
    workDirectory: work,
    ...(distros ? { distros } : {}),
  })
  const ids = async (name: string) => {
    const { generation, ecosystems } = await advisories.state()
    const found = await advisories.candidates(generation, Object.keys(ecosystems), [name])
    return [...(await advisories.advisories(found.map((one) => one.key))).values()]
      .map((advisory) => advisory.id)
      .sort()
  }
  return { advisories, importer, ids }
}

async function file(name: string, content: Buffer | string): Promise<string> {
  await writeFile(join(root, name), content)
  return join(root, name)
}

const debian = (id: string, fixed = '2') => record(id, { affected: [affects('Debian:12', 'x', fixed)] })
const many = (count: number) => Array.from({ length: count }, (_, i) => debian(`DSA-${i}`))

describe('a zip file', () => {
  test('is imported, and not again while it is the same', async () => {
    const { importer, ids } = setUp()
    const path = await file('a.zip', zipOfRecords([debian('DSA-1'), debian('DSA-2')]))
    expect(await importer.importZip(path)).toMatchObject({
      feed: 'file:a.zip',
      outcome: 'imported',
      advisories: 2,
      changed: 2,
      removed: 0,
    })
    expect(await importer.importZip(path)).toMatchObject({ outcome: 'unchanged', advisories: 2, changed: 0 })
    expect(await ids('x')).toEqual(['DSA-1', 'DSA-2'])
  })

  test('that changed imports only the differences, and removes what is gone', async () => {
    const { importer, ids } = setUp()
    await importer.importZip(await file('a.zip', zipOfRecords([debian('DSA-1'), debian('DSA-2'), debian('DSA-3')])))
    const path = await file('a.zip', zipOfRecords([debian('DSA-1'), debian('DSA-2', '3'), debian('DSA-4')]))
    expect(await importer.importZip(path)).toMatchObject({ advisories: 3, changed: 2, removed: 1 })
    expect(await ids('x')).toEqual(['DSA-1', 'DSA-2', 'DSA-4'])
  })

  test('with two records of one id keeps the one modified last, in any order', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const { importer, advisories } = setUp()
      const two = [debian('DSA-1', '2'), { ...debian('DSA-1', '3'), modified: '2026-02-01T00:00:00Z' }]
      await importer.importZip(
        await file('a.zip', zip(order.map((i) => [`${i}.json`, Buffer.from(JSON.stringify(two[i]))]))),
      )
      const [found, ...more] = await advisories.candidates(1, ['Debian:12'], ['x'])
      expect(more).toEqual([])
      expect(found!.affected.ranges[0]!.events[1]!.fixed).toBe('3')
    }
  })

  test('with an unreadable record keeps its last good version', async () => {
    const { importer, ids } = setUp()
    await importer.importZip(await file('a.zip', zipOfRecords([debian('DSA-1'), debian('DSA-2')])))
    const good = ['DSA-1.json', Buffer.from(JSON.stringify(debian('DSA-1', '9')))] as const
    const result = await importer.importZip(await file('a.zip', zip([good, ['DSA-2.json', Buffer.from('{"id":')]])))
    expect(result).toMatchObject({
      outcome: 'imported',
      advisories: 2,
      changed: 1,
      removed: 0,
      skipped: [{ name: 'DSA-2.json' }],
      message: expect.stringContaining('1 unreadable files skipped, the first DSA-2.json'),
    })
    expect(await ids('x')).toEqual(['DSA-1', 'DSA-2'])
  })

  describe('leaves the last good advisories in force', () => {
    const cut = zipOfRecords(many(40))
    cut.writeUInt8(cut.readUInt8(60) ^ 0xff, 60)
    test.each([
      ['when it is broken', cut, /could not be imported/],
      ['when it is something else', Buffer.from('<html></html>'), /could not be imported/],
      ['when it is empty', zip([]), /no advisories/],
      ['when half of them are gone', zipOfRecords(many(10)), /holds 10 advisories, before it were 30/],
      [
        'when much of it is unreadable',
        zip([
          ...many(30).map((one, i) => [`${i}.json`, Buffer.from(JSON.stringify(one))] as const),
          ...Array.from({ length: 11 }, (_, i) => [`bad${i}.json`, Buffer.from('{')] as const),
        ]),
        /11 of its files/,
      ],
    ])('%s', async (_when, bytes, message) => {
      const { importer, ids, advisories } = setUp()
      await importer.importZip(await file('a.zip', zipOfRecords(many(30))))
      await expect(importer.importZip(await file('a.zip', bytes))).rejects.toThrow(message)
      expect(await ids('x')).toHaveLength(30)
      expect((await advisories.state()).generation).toBe(1)
      expect((await importer.importZip(await file('a.zip', zipOfRecords(many(31))))).changed).toBe(1)
    })
  })

  test('keeps only advisories for the active distributions, and is read again when those change', async () => {
    const records = [
      debian('DSA-1'),
      record('ALSA-1', { affected: [affects('AlmaLinux:9', 'x', '2')] }),
      record('GHSA-1', { affected: [affects('npm', 'x', '2.0.0')] }),
    ]
    const path = await file('a.zip', zipOfRecords(records))
    const { importer, ids, advisories } = setUp(['almalinux:9', 'fedora:42'])
    expect((await importer.importZip(path)).advisories).toBe(2)
    expect(await ids('x')).toEqual(['ALSA-1', 'GHSA-1'])
    const wider = createOsvImporter({
      advisories,
      compare: compareDotted,
      clock,
      download: async () => {},
      workDirectory: work,
      distros: ['almalinux:9', 'debian:12'],
    })
    expect(await wider.importZip(path)).toMatchObject({ outcome: 'imported', advisories: 3, changed: 1 })
  })
})

test('a directory is read with its sub-directories and the zip files in them', async () => {
  const directory = join(root, 'copy')
  await mkdir(join(directory, 'Debian'), { recursive: true })
  await writeFile(join(directory, 'DSA-1.json'), JSON.stringify(debian('DSA-1')))
  await writeFile(join(directory, 'Debian', 'all.zip'), zipOfRecords([debian('DSA-2')]))
  await writeFile(join(directory, 'README.md'), 'not a record')
  const { importer, ids } = setUp()
  expect(await importer.importDirectory(directory)).toMatchObject({
    feed: 'directory:copy',
    advisories: 2,
    skipped: [],
  })
  expect(await ids('x')).toEqual(['DSA-1', 'DSA-2'])
  expect((await importer.importDirectory(`${directory}/`, 'directory:copy')).outcome).toBe('unchanged')
})

describe('a bucket', () => {
  const rocky = () => zipOfRecords([record('RLSA-1', { affected: [affects('Rocky Linux:9', 'x', '2')] })])

  test('is asked again after a day, each ecosystem on its own, and leaves no files behind', async () => {
    const { importer, ids } = setUp()
    served.set('/bucket/Debian/all.zip', zipOfRecords([debian('DSA-1')]))
    served.set('/bucket/Rocky%20Linux/all.zip', rocky())
    const options = { url: `${url}/`, ecosystems: ['Debian', 'Rocky Linux', 'Alpine'] }
    expect((await importer.refresh(options)).map((one) => `${one.feed} ${one.outcome}`)).toEqual([
      'osv:Debian imported',
      'osv:Rocky Linux imported',
      'osv:Alpine failed',
    ])
    expect(await ids('x')).toEqual(['DSA-1', 'RLSA-1'])
    asked.length = 0
    now = new Date('2026-05-01T23:59:59Z')
    expect((await importer.refresh(options)).map((one) => one.outcome)).toEqual(['fresh', 'fresh', 'failed'])
    expect(asked).toEqual(['/bucket/Alpine/all.zip'])
    now = new Date('2026-05-02T00:00:00Z')
    expect((await importer.refresh(options)).map((one) => one.outcome)).toEqual(['unchanged', 'unchanged', 'failed'])
    now = new Date('2026-05-02T12:00:00Z')
    expect((await importer.refresh({ ...options, force: true })).map((one) => one.outcome)).toEqual([
      'unchanged',
      'unchanged',
      'failed',
    ])
    expect(await readdir(work)).toEqual([])
  })

  test.each(['fetched', 'read'])(
    'leaves everything as it was when the import is stopped while it is %s',
    async (phase) => {
      const { importer, ids, advisories } = setUp()
      const options = { url, ecosystems: ['Debian'], force: true }
      served.set('/bucket/Debian/all.zip', zipOfRecords([debian('DSA-1')]))
      await importer.refresh(options)
      const before = await advisories.feed('osv:Debian')
      served.set('/bucket/Debian/all.zip', zipOfRecords([debian('DSA-1'), debian('DSA-2')]))
      const stopping = new AbortController()
      const stop = () => stopping.abort(new Error('the service is stopping'))
      if (phase === 'read') atBegin = stop
      else
        atRequest = () => {
          stop()
          return true
        }
      await expect(importer.refresh({ ...options, signal: stopping.signal })).rejects.toThrow('the service is stopping')
      expect([await ids('x'), await advisories.feed('osv:Debian')]).toEqual([['DSA-1'], before])
      // The next import may begin.
      atRequest = () => false
      expect(await importer.refresh(options)).toMatchObject([{ outcome: 'imported', changed: 1 }])
      expect(await readdir(work)).toEqual([])
    },
  )

  test('that fails leaves the previous advisories, and is asked again immediately', async () => {
    const { importer, ids, advisories } = setUp()
    const options = { url, ecosystems: ['Debian'] }
    served.set('/bucket/Debian/all.zip', zipOfRecords([debian('DSA-1')]))
    await importer.refresh(options)
    served.set('/bucket/Debian/all.zip', Buffer.from('half a fi'))
    now = new Date('2026-05-02T00:00:00Z')
    expect(await importer.refresh(options)).toMatchObject([
      { outcome: 'failed', advisories: 1, message: expect.stringContaining('could not be imported') as string },
    ])
    expect(await ids('x')).toEqual(['DSA-1'])
    expect(await advisories.feed('osv:Debian')).toMatchObject({
      checkedAt: new Date('2026-05-01T00:00:00Z'),
      error: expect.any(String) as string,
    })
    served.set('/bucket/Debian/all.zip', zipOfRecords([debian('DSA-1'), debian('DSA-2')]))
    expect(await importer.refresh(options)).toMatchObject([{ outcome: 'imported', changed: 1 }])
    expect((await advisories.feed('osv:Debian'))!.error).toBeNull()
    expect(await readdir(work)).toEqual([])
  })
})
