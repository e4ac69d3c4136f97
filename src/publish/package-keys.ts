// The keys that clients need to verify packages: ours, and those of import sources that signed imported packages.
import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import type { Clock } from '../kernel/clock.ts'
import { ensureContent, ifMissing } from '../kernel/files.ts'
import { askJob } from '../formats/readers/job.ts'
import type { ReaderPool } from '../formats/readers/pool.ts'
import type { Db } from '../store/db.ts'

export interface SourceKey {
  fingerprint: string
  /** ids of the key and its subkeys, upper case hex */
  ids: string[]
  armored: string
}

/** A key of an import source. */
export interface KnownKey {
  fingerprint: string
  armored: string
}

export interface PackageKeys {
  /** The key of an import source with this id. @param type of the sources: the format's name in REPO_FORMAT */
  find(type: string, keyId: string): Promise<KnownKey | null>
  /** Adds a key to the file that clients fetch; resolves when they can fetch it. */
  publish(key: KnownKey): Promise<void>
  /** Makes file and table agree: keys in the file are still needed when the database is new. */
  restore(): Promise<void>
}

export interface PackageKeysDeps {
  db: Db
  clock: Clock
  /** the file that clients fetch */
  path: string
  /** our own public key, armored */
  own(): string
  readers: ReaderPool
}

export function createPackageKeys({ db, clock, path, own, readers }: PackageKeysDeps): PackageKeys {
  /** Parsed keys, by the digest of the text that a source states. */
  let parsed = new Map<string, SourceKey[]>()
  const published = new Set<string>()

  async function keysOf(type: string): Promise<SourceKey[]> {
    const { rows } = await sql<{ id: number; digest: string }>`select id, md5(keys::text) as digest from sources
      where type = ${type} and keys <> '[]'`.execute(db)
    const current = new Map<string, SourceKey[]>()
    for (const { id, digest } of rows) current.set(digest, parsed.get(digest) ?? (await read(id)))
    parsed = current
    return [...current.values()].flat()
  }

  async function read(sourceId: number): Promise<SourceKey[]> {
    const row = await db.selectFrom('sources').select('keys').where('id', '=', sourceId).executeTakeFirst()
    const keys = await Promise.all((row?.keys ?? []).map(({ text }) => parse(text)))
    return keys.flat()
  }

  const parse = (text: string) =>
    askJob(readers, 'publish-keys', { text }, { subject: 'reading the keys of a source', isDone: isKeys })

  async function add({ fingerprint, armored }: KnownKey): Promise<void> {
    await db
      .insertInto('package_keys')
      .values({ fingerprint, armored, added_at: clock.now() })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }

  const stored = () => db.selectFrom('package_keys').selectAll().orderBy('added_at').orderBy('fingerprint').execute()

  async function ensure(): Promise<void> {
    for (let rows = await stored(); ;) {
      const text = [own(), ...rows.map(({ armored }) => armored)].map((key) => `${key.trimEnd()}\n`).join('')
      await ensureContent(path, text)
      // Another process may have added a key and written the file before this one did.
      const now = await stored()
      if (now.length === rows.length) return
      rows = now
    }
  }

  return {
    async restore() {
      const present = await readFile(path, 'utf8').catch(ifMissing(''))
      // Our key is the first. A replaced key may be there instead: packages that it signed still need it.
      const ours = own().trimEnd()
      const others = present.startsWith(ours) ? present.slice(ours.length) : present
      if (others.trim() !== '') for (const key of await parse(others)) await add(key)
      await ensure()
    },
    async find(type, keyId) {
      const key = (await keysOf(type)).find(({ ids }) => ids.includes(keyId.toUpperCase()))
      return key ? { fingerprint: key.fingerprint, armored: key.armored } : null
    },
    async publish(key) {
      if (published.has(key.fingerprint)) return
      await add(key)
      await ensure()
      published.add(key.fingerprint)
    },
  }
}

function isKeys(value: unknown): value is SourceKey[] {
  return Array.isArray(value) && value.every(isKey)
}

function isKey(value: unknown): boolean {
  const { fingerprint, ids, armored } = (value ?? {}) as Partial<Record<keyof SourceKey, unknown>>
  const isText = (one: unknown) => typeof one === 'string'
  return isText(fingerprint) && isText(armored) && Array.isArray(ids) && ids.every(isText)
}
