// The result of a restore: closed files, whatever the archive states; and nothing when the database differs from the list.
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readTar } from '../../formats/archive/tar.ts'
import { createSecretBox } from '../../kernel/crypto.ts'
import { restore as runRestore } from '../../restore.ts'
import { migrate, openDatabase } from '../../store/db.ts'
import { dumpDatabase } from './database/dump.ts'
import { stateOfDump } from './dumped-state.ts'
import { FORMAT } from './proof.ts'
import { writeArchive, type ArchiveFile } from './write-archive.ts'

const TOP = 'svc_backup_20260301_043000'

let directory: string
let dump: string
let rows: Record<string, number>
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'restore-'))
  dump = join(directory, 'dump')
  const database = await openDatabase('pglite://memory')
  try {
    await migrate(database.db)
    await dumpDatabase(database, dump)
  } finally {
    await database.close()
  }
  const state = await stateOfDump(dump)
  rows = state.rows
  // Closes the dump.
  for await (const _ of state.files);
})
// The command sets it for its process, which it shares with other test files here.
const umask = process.umask(0o022)
afterAll(async () => {
  process.umask(umask)
  await rm(directory, { recursive: true, force: true })
})

const SHA256 = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'

async function archiveOf(name: string, counted = rows, settings = '{}'): Promise<string> {
  const contents: [string, string | null][] = [
    ['postgres.dump', null],
    ['settings.json', settings],
    ['gnupg/signing-key.asc', 'a key'],
    ['security/audit.key', 'another key'],
    [`pool/deb/2d/${SHA256}/a_1_amd64.deb`, 'x'],
  ]
  const files: ArchiveFile[] = []
  for (const [at, [entry, text]] of contents.entries()) {
    const path = text === null ? dump : join(directory, `${name}-${at}`)
    if (text !== null) await writeFile(path, text)
    files.push({ name: entry, path, mode: 0o777 })
  }
  const about = { format: FORMAT, service: '1.2.3', created_at: '2026-03-01T04:30:00.000+00:00', name: TOP }
  const list = join(directory, `${name}.list`)
  const to = join(directory, name)
  const proof = { about, list, totals: () => ({ missing: 0, rows: counted }) }
  const each = (async function* () {
    yield* files
  })()
  const quiet = { signal: new AbortController().signal, onFile: () => {} }
  await writeArchive(to, proof, ['gnupg', 'pool'], each, quiet)
  return to
}

/** As older builds wrote it, without the first and last entry about the archive. */
async function withoutProof(archive: string): Promise<string> {
  const tar = pack()
  const unpacked = gunzipSync(await buffer(createReadStream(archive)))
  const source = (async function* () {
    yield unpacked
  })()
  for await (const { name, type, mode, content } of readTar(source)) {
    if (/\/(archive\.json|contents\.ndjson)$/.test(name)) continue
    const entryType = type === 'directory' ? type : 'file'
    tar.entry({ name, mode, type: entryType }, await buffer(content as AsyncIterable<Buffer>))
  }
  tar.finalize()
  await writeFile(`${archive}-old`, gzipSync(await buffer(tar)))
  return `${archive}-old`
}

async function restore(name: string, args: readonly string[], keys: Record<string, string> = {}) {
  const reposDir = join(directory, `${name}-repos`)
  await mkdir(reposDir, { recursive: true })
  const lines: string[] = []
  const print = (line: string) => lines.push(line)
  const env = { ...keys, REPOS_DIR: reposDir, DATABASE_URL: `pglite://${join(directory, `${name}-db`)}` }
  const code = await runRestore(args, env, { print, complain: print })
  return { code, text: lines.join('\n'), reposDir, databaseUrl: env.DATABASE_URL }
}

async function modesBelow(path: string): Promise<Record<string, string>> {
  const modes: Record<string, string> = {}
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    const full = join(entry.parentPath, entry.name)
    modes[full.slice(path.length + 1)] = ((await stat(full)).mode & 0o7777).toString(8)
  }
  return modes
}

test('files are open to nobody else, whatever modes the archive has', async () => {
  const { code, text, reposDir } = await restore('modes', [await archiveOf('open')])
  expect([code, text]).toEqual([0, expect.stringContaining('by version 1.2.3, 9 entries as listed')])
  const modes = await modesBelow(reposDir)
  expect(modes).toMatchObject({
    'settings.json': '600',
    'gnupg/signing-key.asc': '600',
    [`pool/deb/2d/${SHA256}/a_1_amd64.deb`]: '644',
  })
  expect(Object.entries(modes).filter(([name]) => /audit\.key$/.test(name))).toEqual([[expect.any(String), '600']])
  for (const [name, mode] of Object.entries(modes))
    if (!name.endsWith('.deb')) expect([name, parseInt(mode, 8) & 0o077]).toEqual([name, 0])
})

test('a dump with other rows than are listed is refused: nothing is in place, and the database is empty', async () => {
  const { code, text, reposDir, databaseUrl } = await restore('counts', [
    await archiveOf('more', { ...rows, packages: 1 }),
  ])
  expect([code, text]).toEqual([1, expect.stringContaining('table packages has 0 rows, but 1 are listed')])
  expect(Object.keys(await modesBelow(reposDir))).toEqual([])
  const database = await openDatabase(databaseUrl)
  const lease = await database.acquire()
  const { rows: tables } = await lease.query(`select relname from pg_class where relname = 'packages'`, [])
  lease.release()
  await database.close()
  expect(tables).toEqual([])
})

test('an archive of an older build is restored with a flag only, and the output says what cannot be known', async () => {
  const archive = await withoutProof(await archiveOf('old'))
  const refused = await restore('refused', [archive])
  expect([refused.code, refused.text]).toEqual([1, expect.stringContaining('--without-proof')])
  expect(Object.keys(await modesBelow(refused.reposDir))).toEqual([])
  const restored = await restore('restored', ['--without-proof', archive])
  expect([restored.code, restored.text]).toEqual([0, expect.stringMatching(/It cannot be known\n- whether packages/)])
  expect(await modesBelow(restored.reposDir)).toMatchObject({ 'settings.json': '600' })
})

test('a flag that is not known is wrong use', async () => {
  expect((await restore('usage', ['--with-proof'])).code).toBe(2)
})

test('secrets that the key of this system does not open stop a restore before it begins, and are left out with a flag', async () => {
  const sealed = (key: string) => createSecretBox(key).seal('a secret')
  const settings = {
    email: { smtp_password: sealed('old'), smtp_host: 'mail' },
    ldap: { bind_password: sealed('new') },
  }
  const archive = await archiveOf('sealed', rows, JSON.stringify(settings))
  const wrong = await restore('sealed', [archive], { SETTINGS_ENCRYPTION_KEY: 'new' })
  expect([wrong.code, wrong.text]).toEqual([
    1,
    expect.stringMatching(/SETTINGS_ENCRYPTION_KEY .* is not the one that email\.smtp_password in the archive/),
  ])
  const none = await restore('sealed', [archive])
  expect(none.text).toMatch(
    /encrypted settings \(email\.smtp_password, ldap\.bind_password\): set SETTINGS_ENCRYPTION_KEY/,
  )
  expect(await modesBelow(none.reposDir)).toEqual({})
  const without = await restore('sealed', ['--without-secrets', archive], { JWT_SECRET_KEY: 'new' })
  expect([without.code, without.text]).toEqual([0, expect.stringContaining('left out: email.smtp_password; set it')])
  const restored = JSON.parse(await readFile(join(without.reposDir, 'settings.json'), 'utf8')) as unknown
  expect(restored).toEqual({ ...settings, email: { smtp_password: '', smtp_host: 'mail' } })
  expect(await modesBelow(without.reposDir)).toMatchObject({ 'settings.json': '600' })
})

test('a file that is no archive is named, and a database that is not empty is noticed before the archive is read', async () => {
  const none = await restore('none', [join(directory, 'absent.tar.gz')])
  expect([none.code, none.text]).toEqual([1, `there is no archive ${join(directory, 'absent.tar.gz')}`])
  await writeFile(join(directory, 'notes.txt'), 'some notes')
  const notes = await restore('notes', [join(directory, 'notes.txt')])
  expect([notes.code, notes.text]).toEqual([
    1,
    expect.stringMatching(/notes\.txt is no backup archive: it is not compr/),
  ])
  const full = await openDatabase(`pglite://${join(directory, 'full-db')}`)
  await migrate(full.db)
  await full.close()
  const twice = await restore('full', [await archiveOf('twice')])
  expect([twice.code, twice.text]).toEqual([1, expect.stringMatching(/^the database is not empty: it has /)])
})
