import { afterEach, beforeEach, expect, test } from 'vitest'
import { watch, writeFileSync } from 'node:fs'
import { chmod, link, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBus } from '../../kernel/bus.ts'
import { createSecretBox, sha256Hex } from '../../kernel/crypto.ts'
import { createSettings, type SettingsStore } from './settings.ts'
import { SettingsFileError } from './stored.ts'
import { withFileLock } from './file-lock.ts'

let directory: string
let path: string
let time: number
let changes: string[][]
let errors: unknown[]
const clock = { now: () => new Date(time) }

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-settings-'))
  path = join(directory, 'settings.json')
  time = Date.parse('2026-03-01T12:00:00Z')
  changes = []
  errors = []
})
afterEach(() => rm(directory, { recursive: true }))

function replica(passphrase = 'one passphrase', mode: 'development' | 'production' = 'production'): SettingsStore {
  const bus = createBus((error) => errors.push(error))
  bus.on('settings', ({ changed }) => changes.push(changed))
  return createSettings({
    inactiveVariables: ['REDIS_URL'],
    path,
    clock,
    bus,
    mode,
    secretBox: createSecretBox(passphrase),
    repoFormat: 'all',
    edition: 'enterprise',
    onError: (error) => errors.push(error),
  })
}

async function loaded(passphrase?: string, mode?: 'development' | 'production'): Promise<SettingsStore> {
  const settings = replica(passphrase, mode)
  await settings.load()
  return settings
}

const onDisk = async () => JSON.parse(await readFile(path, 'utf8')) as Record<string, Record<string, unknown>>

test('twenty parallel changes on two replicas are all kept', async () => {
  const [one, two] = [await loaded(), await loaded()]
  const keys = Object.keys(one.current().sources).slice(0, 20)
  await Promise.all(keys.map((key, at) => (at % 2 ? one : two).patch({ sources: { [key]: false } }, 'ann')))
  const fresh = await loaded()
  expect(fresh.masked()._meta.revision).toBe(20)
  expect(keys.every((key) => (fresh.current().sources as Record<string, boolean>)[key] === false)).toBe(true)
  expect(await readdir(directory)).toEqual(['settings.json'])
})

test('another replica sees a change within a second, announces it, and checks no more often', async () => {
  const [one, two] = [await loaded(), await loaded()]
  await one.patch({ sync: { hour: 7 } }, 'ann')
  changes = []
  time += 999
  expect(two.current().sync.hour).toBe(3)
  time += 1
  expect(two.current().sync.hour).toBe(7)
  expect(two.masked()._meta.revision).toBe(1)
  expect(changes).toEqual([['sync.hour']])
})

test('a change is merged into what another replica wrote, seen or not', async () => {
  const [one, two] = [await loaded(), await loaded()]
  await one.patch({ sync: { hour: 7 } }, 'ann')
  const { document, changedKeys } = await two.patch({ sync: { minute: 9 } }, 'bob')
  expect(changedKeys).toEqual(['sync.minute'])
  expect(document).toMatchObject({ sync: { hour: 7, minute: 9 }, _meta: { revision: 2 } })
})

test('a file that becomes unusable is reported once, does not change the settings and is never overwritten', async () => {
  const settings = await loaded()
  await settings.patch({ sync: { hour: 7 } }, 'ann')
  await writeFile(path, '{"sync":')
  for (let second = 0; second < 5; second++) {
    time += 1000
    expect(settings.current().sync.hour).toBe(7)
  }
  expect(errors).toHaveLength(1)
  await expect(settings.patch({ sync: { hour: 8 } }, 'ann')).rejects.toThrow(SettingsFileError)
  expect(await readFile(path, 'utf8')).toBe('{"sync":')
})

test.each<[string, string, RegExp]>([
  ['is not JSON', '{"ldap": {"bind_password": "plain-pw"', /not JSON/],
  ['is a list', '[]', /not a JSON object/],
  ['is empty', '', /not JSON/],
  [
    'holds a wrong type',
    '{"sync": {"hour": "x"}, "backup": {"retention_count": 0}}',
    /sync\.hour must be integer; backup\.retention_count must be >= 1/,
  ],
  ['holds a section that is none', '{"sync": true}', /sync must be an object/],
  ['holds damaged _meta', '{"_meta": {"revision": -1}}', /_meta is damaged/],
  ['holds a mask', '{"ldap": {"bind_password": "***"}}', /ldap\.bind_password holds the mask/],
  [
    'holds an altered secret',
    '{"ldap": {"bind_password": "sealed:v1:AAAA"}}',
    /ldap\.bind_password cannot be decrypted/,
  ],
])('a file that %s stops the start with a clear sentence and without its secrets', async (_what, text, message) => {
  await writeFile(path, text)
  const failure = await replica()
    .load()
    .then(
      () => null,
      (error: Error) => error,
    )
  expect(failure).toBeInstanceOf(SettingsFileError)
  expect(failure?.message).toMatch(message)
  expect(failure?.message).toContain(path)
  expect(failure?.message).not.toContain('plain-pw')
  expect(await readFile(path, 'utf8')).toBe(text)
})

test('a file that cannot be read stops the start', async () => {
  await rm(path, { force: true })
  await mkdir(path)
  await expect(replica().load()).rejects.toThrow(/cannot be read/)
})

test('secrets sealed with another key stop the start', async () => {
  await (await loaded('first')).patch({ ldap: { bind_password: 'pw' } }, 'ann')
  await expect(replica('second').load()).rejects.toThrow(
    /ldap\.bind_password cannot be decrypted: SETTINGS_ENCRYPTION_KEY/,
  )
})

test('a file of an older version gets defaults, one of a newer version keeps what only that knows', async () => {
  await writeFile(
    path,
    JSON.stringify({
      sync: { hour: 6, drift: 1 },
      future: { x: 1 },
      _meta: { revision: 41, updated_at: null, updated_by: 'ann' },
    }),
  )
  await chmod(path, 0o644)
  const settings = replica()
  expect((await settings.load()).warnings).toEqual([
    expect.stringMatching(/^sync\.drift /),
    expect.stringMatching(/^future /),
  ])
  expect(settings.masked()).toMatchObject({ sync: { hour: 6, minute: 0 }, _meta: { revision: 41 } })
  await settings.patch({ sync: { hour: 7 } }, 'bob')
  expect(await onDisk()).toMatchObject({
    sync: { hour: 7, drift: 1 },
    future: { x: 1 },
    _meta: { revision: 42, updated_by: 'bob' },
  })
})

test('a secret written into the file by hand works, logs a warning, and is sealed by the next change', async () => {
  await writeFile(path, JSON.stringify({ ldap: { bind_password: 'by-hand' } }))
  const settings = replica()
  const { warnings } = await settings.load()
  expect(warnings).toEqual([expect.stringMatching(/^ldap\.bind_password .* not encrypted/)])
  expect(settings.current().ldap.bind_password).toBe('by-hand')
  await settings.patch({ sync: { hour: 7 } }, 'bob')
  expect(await readFile(path, 'utf8')).not.toContain('by-hand')
  expect((await loaded()).current().ldap.bind_password).toBe('by-hand')
})

test('a default that was never touched follows the mode of the next start', async () => {
  const development = await loaded(undefined, 'development')
  await development.patch({ validation: { gpg_required: true, on_unscanned: 'allow' } }, 'ann')
  expect((await loaded(undefined, 'production')).current().validation).toMatchObject({
    on_unscanned: 'hold',
    gpg_required: true,
  })
})

test('the lock of a dead process is taken over, that of a living one is waited for', async () => {
  const lock = join(directory, '.settings.json.lock')
  await writeFile(lock, `${new Date(time - 31_000).toISOString()} dead`)
  expect(await withFileLock(path, clock, async () => 'done', 0)).toBe('done')
  await writeFile(lock, `${new Date(time - 29_000).toISOString()} alive`)
  await expect(withFileLock(path, clock, async () => 'done', 0)).rejects.toMatchObject({ code: 'timeout' })
  expect(await readdir(directory)).toEqual(['.settings.json.lock'])
})

test('a lock that another process took meanwhile never leaves its place, where a third one would find none', async () => {
  const lock = join(directory, '.settings.json.lock')
  await writeFile(lock, `${new Date(time - 31_000).toISOString()} dead`)
  const moved: (string | null)[] = []
  const watcher = watch(directory, (event, name) => event === 'rename' && moved.push(name))
  let asked = 0
  const overtaken = {
    now() {
      // The second question is how old the lock is, which was read before.
      if (++asked === 2) writeFileSync(lock, `${new Date(time).toISOString()} other`)
      return new Date(time)
    },
  }
  await expect(withFileLock(path, overtaken, async () => 'done', 0)).rejects.toMatchObject({ code: 'timeout' })
  await writeFile(join(directory, 'end'), '')
  await expect.poll(() => moved).toContain('end')
  watcher.close()
  expect(moved).not.toContain('.settings.json.lock')
  expect((await readdir(directory)).sort()).toEqual(['.settings.json.lock', 'end'])
})

test('the removal of a lock that a process began before it died is gone on with', async () => {
  const lock = join(directory, '.settings.json.lock')
  const content = `${new Date(time - 31_000).toISOString()} dead`
  await writeFile(lock, content)
  await link(lock, `${lock}.${sha256Hex(content).slice(0, 16)}.stale`)
  const later = { now: () => new Date(Date.now() + 31_000) }
  expect(await withFileLock(path, later, async () => 'done', 1000)).toBe('done')
  expect(await readdir(directory)).toEqual([])
})
