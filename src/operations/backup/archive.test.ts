import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteArchive, keepNewest, listArchives, removeUnfinished } from './archives.ts'
import { archiveName, archivePaths, madeAt } from './names.ts'
import { textOfMissing } from './missing.ts'
import { FORMAT } from './proof.ts'
import { readArchive } from './read-archive.ts'
import { verifyArchive } from './verify-archive.ts'
import { writeArchive, type ArchiveFile, type Proof } from './write-archive.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'archive-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const TOP = 'svc_backup_20260301_043000'
const BYTES = Buffer.from('a package')
const SHA256 = createHash('sha256').update(BYTES).digest('hex')
/** entries that describe the archive itself */
const OF_ITSELF = ['archive.json', 'contents.ndjson']
const POOL = `pool/deb/${SHA256.slice(0, 2)}/${SHA256}/a_1.0_amd64.deb`
/** @param list path of a file that does not exist yet */
const proofAt = (list: string): Proof => ({
  about: { format: FORMAT, service: '1.2.3', created_at: '2026-03-01T04:30:00.000+00:00', name: TOP },
  list,
  totals: () => ({ missing: 0, rows: { packages: 1 } }),
})
const quiet = { signal: new AbortController().signal, onFile: () => {} }

interface Item {
  name: string
  content?: Buffer | string
  type?: 'file' | 'directory' | 'symlink' | 'link' | 'fifo'
  linkname?: string
}

async function archiveOf(items: readonly Item[]): Promise<string> {
  const tar = pack()
  for (const { name, content = '', type = 'file', linkname } of items)
    tar.entry({ name, type, ...(linkname ? { linkname } : {}) }, Buffer.from(content))
  tar.finalize()
  const pieces: Buffer[] = []
  for await (const piece of tar) pieces.push(piece as Buffer)
  const path = join(directory, `${Math.random()}.tar.gz`)
  await writeFile(path, gzipSync(Buffer.concat(pieces)))
  return path
}

const DUMP = { name: `${TOP}/postgres.dump`, content: 'PGDMP' }

test('files are read back from an archive with their modes and long names', async () => {
  const long = `manifests/jammy/l/${'x'.repeat(200)}.json`
  const contents: Record<string, [string | Buffer, number]> = {
    'postgres.dump': ['PGDMP', 0o600],
    'gnupg/signing-key.asc': ['key', 0o600],
    'audit/2026-03-01.jsonl': ['', 0o600],
    [long]: ['{}', 0o600],
    [POOL]: [BYTES, 0o644],
  }
  const files: ArchiveFile[] = []
  for (const [name, [content, mode]] of Object.entries(contents)) {
    const path = join(directory, createHash('md5').update(name).digest('hex'))
    await writeFile(path, content)
    files.push({ name, path, mode })
  }
  const to = join(directory, 'written')
  const written = await writeArchive(
    to,
    proofAt(join(directory, 'written.list')),
    ['pool'],
    (async function* () {
      yield* files
    })(),
    quiet,
  )
  expect((await stat(to)).size).toBe(written.sizeBytes)
  expect(
    createHash('sha256')
      .update(await readFile(to))
      .digest('hex'),
  ).toBe(written.sha256)
  const read: Record<string, [string, number]> = {}
  for await (const { name, type, mode, content } of readArchive(to)) {
    if (type === 'directory' || OF_ITSELF.includes(name)) continue
    const pieces: Uint8Array[] = []
    for await (const piece of content) pieces.push(piece)
    read[name] = [Buffer.concat(pieces).toString(), mode]
  }
  expect(read).toEqual(
    Object.fromEntries(Object.entries(contents).map(([name, [text, mode]]) => [name, [String(text), mode]])),
  )
  expect(await verifyArchive(to)).toEqual({
    ...{ entries: 8, packages: 1, missing: [], settings: expect.any(String) },
    proof: {
      ...{ format: 1, service: '1.2.3', created_at: '2026-03-01T04:30:00.000+00:00', name: TOP },
      ...{ entries: 8, packages: 1, missing: 0, rows: { packages: 1 } },
    },
  })
})

test('a file that grew is cut to its size, and one that changed since is left out', async () => {
  const path = join(directory, 'grows')
  await writeFile(path, 'first line\nsecond line\n')
  await utimes(path, 1000, 1000)
  const to = join(directory, 'grown')
  const files: ArchiveFile[] = [
    { name: 'audit/2026-03-01.jsonl', path, mode: 0o600, sizeBytes: 11 },
    { name: 'manifests/old.json', path, mode: 0o600, unchangedSince: 1_000_001 },
    { name: 'manifests/new.json', path, mode: 0o600, unchangedSince: 1_000_000 },
    { name: 'manifests/gone.json', path: join(directory, 'gone'), mode: 0o600, unchangedSince: 1_000_000 },
  ]
  await writeArchive(
    to,
    proofAt(join(directory, 'grown.list')),
    [],
    (async function* () {
      yield* files
    })(),
    quiet,
  )
  const sizes: [string, number][] = []
  for await (const { name, type, sizeBytes } of readArchive(to))
    if (type === 'file' && !OF_ITSELF.includes(name)) sizes.push([name, sizeBytes])
  expect(sizes).toEqual([
    ['audit/2026-03-01.jsonl', 11],
    ['manifests/old.json', 23],
  ])
})

describe('an archive', () => {
  test.each<[string, Item[], RegExp]>([
    ['without a dump', [{ name: `${TOP}/settings.json`, content: '{}' }], /no postgres\.dump/],
    ['without entries', [], /empty/],
    ['with a name that leads outside', [DUMP, { name: `${TOP}/pool/../../../etc/passwd` }], /outside|entry/],
    ['with an absolute name', [{ name: '/etc/passwd' }], /entry/],
    ['of another top directory', [DUMP, { name: 'svc_backup_20260301_043001/settings.json' }], /entry/],
    ['of another service', [{ name: 'backup/postgres.dump' }], /entry/],
    [
      'with a symbolic link',
      [DUMP, { name: `${TOP}/gnupg/x`, type: 'symlink', linkname: '/etc/shadow' }],
      /neither a file/,
    ],
    ['with a hard link', [DUMP, { name: `${TOP}/gnupg/x`, type: 'link', linkname: '/etc/shadow' }], /neither a file/],
    ['with a pipe', [DUMP, { name: `${TOP}/gnupg/x`, type: 'fifo' }], /neither a file/],
    ['with an unknown directory', [DUMP, { name: `${TOP}/dists/jammy/Release` }], /entry/],
    ['with two dumps', [DUMP, DUMP], /twice/],
    ['with a package of other bytes', [DUMP, { name: `${TOP}/${POOL}`, content: 'others' }], /other bytes/],
    [
      'with a damaged list of what it lacks',
      [DUMP, { name: `${TOP}/missing.json`, content: '{"missing": 1}' }],
      /list/,
    ],
    [
      'with an endless list of what it lacks',
      [DUMP, { name: `${TOP}/missing.json`, content: `"${'x'.repeat(5_000_000)}"` }],
      /list/,
    ],
    ['with a file in the pool that no digest names', [DUMP, { name: `${TOP}/pool/deb/a.deb`, content: 'x' }], /entry/],
  ])('%s is refused', async (_, items, sentence) => {
    const path = await archiveOf(items)
    await expect(verifyArchive(path)).rejects.toMatchObject({
      code: 'validation_error',
      detail: expect.stringMatching(sentence),
    })
  })

  test('says which package files it lacks', async () => {
    const missing = [{ format: 'deb' as const, sha256: 'c'.repeat(64), filename: 'a_1_amd64.deb' }]
    const path = await archiveOf([DUMP, { name: `${TOP}/missing.json`, content: textOfMissing(missing) }])
    expect(await verifyArchive(path)).toEqual({ entries: 2, packages: 0, missing, settings: '', proof: null })
  })

  test('that is cut off anywhere is refused', async () => {
    const whole = await readFile(await archiveOf([DUMP, { name: `${TOP}/${POOL}`, content: BYTES }]))
    const path = join(directory, 'cut.tar.gz')
    for (let size = 0; size < whole.length; size += 7) {
      await writeFile(path, whole.subarray(0, size))
      await expect(verifyArchive(path)).rejects.toMatchObject({ code: 'validation_error' })
    }
  })

  test('that is cut off between what is compressed and the packages is refused', async () => {
    const dump = join(directory, 'dump')
    const to = join(directory, 'two-levels')
    const cut = join(directory, 'cut-between')
    // More than the tar and the compression buffer, so that they are in different members.
    await writeFile(dump, randomBytes(500_000))
    const bytes = randomBytes(500_000)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const stored = {
      ...{ sizeBytes: bytes.length, modifiedAt: new Date(0), mode: 0o600 },
      ...{ stream: () => Readable.from([bytes]), close: async () => {} },
    }
    const files = (async function* (): AsyncGenerator<ArchiveFile> {
      yield { name: 'postgres.dump', path: dump, mode: 0o600 }
      yield { name: `pool/deb/${sha256.slice(0, 2)}/${sha256}/a_1.0_amd64.deb`, stored }
    })()
    await writeArchive(to, proofAt(join(directory, 'two-levels.list')), [], files, quiet)
    expect((await verifyArchive(to)).packages).toBe(1)
    const whole = await readFile(to)
    const second = whole.indexOf(Buffer.from('1f8b080000000000', 'hex'), 1)
    expect(second).toBeGreaterThan(0)
    await writeFile(cut, whole.subarray(0, second))
    await expect(verifyArchive(cut)).rejects.toMatchObject({ code: 'validation_error' })
  })
})

describe('the directory of archives', () => {
  test('lists the newest first, keeps as many as it should, and forgets what was interrupted', async () => {
    const own = join(directory, 'backups')
    await rm(own, { recursive: true, force: true })
    expect(await listArchives(own)).toEqual([])
    const names = [1, 2, 3].map((day) => archiveName(new Date(Date.UTC(2026, 2, day, 4, 30))))
    expect(names[0]).toBe('svc_backup_20260301_043000.tar.gz')
    expect(madeAt(names[0]!)).toBe('2026-03-01T04:30:00.000+00:00')
    await mkdir(own)
    for (const name of names) await writeFile(join(own, name), name)
    await writeFile(archivePaths(own, names[0]!).digest, `${'a'.repeat(64)}  ${names[0]}\n`)
    await writeFile(archivePaths(own, names[2]!).partial, 'half')
    await writeFile(join(own, 'notes.txt'), 'of a person')
    expect((await listArchives(own)).map(({ name, sha256 }) => [name, sha256])).toEqual([
      [names[2], null],
      [names[1], null],
      [names[0], 'a'.repeat(64)],
    ])
    await removeUnfinished(own)
    expect(await keepNewest(own, 2)).toEqual([names[0]])
    await deleteArchive(own, names[1]!)
    await expect(deleteArchive(own, names[1]!)).rejects.toMatchObject({ code: 'not_found' })
    await expect(deleteArchive(own, '../notes.txt')).rejects.toMatchObject({ code: 'invalid_archive_name' })
    expect((await readdir(own)).sort()).toEqual(['notes.txt', names[2]])
  })

  test('keeps the newest archive that lacks nothing, however old it is', async () => {
    const own = join(directory, 'incomplete')
    await mkdir(own)
    const names = [1, 2, 3, 4].map((day) => archiveName(new Date(Date.UTC(2026, 2, day, 4, 30))))
    for (const name of names) await writeFile(join(own, name), name)
    const lost = textOfMissing([{ format: 'deb', sha256: 'c'.repeat(64), filename: 'a_1_amd64.deb' }])
    for (const name of names.slice(2)) await writeFile(archivePaths(own, name).missing, lost)
    expect((await listArchives(own)).map(({ missing }) => missing)).toEqual([1, 1, 0, 0])
    expect(await keepNewest(own, 1)).toEqual([names[2], names[0]])
    expect((await readdir(own)).sort()).toEqual([names[1], names[3], `${names[3]}.missing.json`])
  })
})
