// The index of every kept revision, in all formats, can be rendered again from the offers, identical to what clients saw.
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildApk } from '../../../test/samples/apk.ts'
import { buildDeb } from '../../../test/samples/deb.ts'
import { buildRpm } from '../../../test/samples/rpm.ts'
import { createRandom } from '../../../test/fuzz/mutate.ts'
import type { PackageFacts } from '../../domain/package.ts'
import { measure } from '../../kernel/digests.ts'
import { changeRecord, lockRecord } from '../../packages/records/change-record.ts'
import { deleteRecords } from '../../packages/records/delete-records.ts'
import { lockAndAdvance } from '../../packages/records/distribution-row.ts'
import { renderEntries } from '../../packages/records/entries.ts'
import { createHistory } from '../../packages/records/history.ts'
import { replaceOffer } from '../../packages/records/offering.ts'
import { blobRow } from '../../packages/records/stored-file.ts'
import { insertBlobs } from '../../store/files/with-bytes.ts'
import type { Db } from '../../store/db.ts'
import { createPublishingHouse, openSite, type PublishingHouse, type Site } from '../publisher.fixture.ts'
import { linkedGeneration } from '../tree/tree.ts'
import { stateAt } from './index-state.ts'
import { renderIndex } from './render.ts'

const CODENAMES = ['jammy', 'almalinux9', 'alpine3.20']
const STEPS = 45
const CHECKED = 100
const HOUR = 3_600_000
/** Longer than one row may be, together with the other entries of the package: these entries are stored in pieces. */
const LONG = 1500

let site: Site
let house: PublishingHouse
beforeAll(async () => {
  site = await openSite()
  house = await createPublishingHouse(site.database, site.signers, CODENAMES)
})
afterAll(async () => {
  await house.close()
  await site.close()
})

const audit = { record: async () => {}, flush: async () => {} }
const formatOf = (codename: string) => house.deps.offered(codename).format

interface Sample {
  name: string
  version: string
  /** whether it fits all architectures */
  neutral: boolean
  /** makes other bytes of the same package */
  content: string
  long: boolean
}

/** By format: a package, and the source of its entry with one field changed. */
const KINDS: Record<
  string,
  { build(of: Sample): Buffer | Promise<Buffer>; changed(facts: PackageFacts): PackageFacts }
> = {
  deb: {
    build: ({ name, version, neutral, content }) =>
      buildDeb({ name, version, arch: neutral ? 'all' : 'amd64', files: { [`usr/share/${name}`]: content } }),
    changed: (facts) => withFields(facts, ['Phased-Update-Percentage', '10']),
  },
  rpm: {
    build: ({ name, version, neutral, content, long }) =>
      buildRpm({
        ...{ name, version, release: '1', arch: neutral ? 'noarch' : 'x86_64' },
        files: Array.from({ length: long ? LONG : 2 }, (_, n) => ({
          path: `/usr/share/${name}/${'a-long-name-'.repeat(6)}${n}`,
          content,
        })),
      }),
    changed: (facts) => ({ ...facts, record: { ...(facts.record as object), summary: 'another summary' } }),
  },
  apk: {
    build: ({ name, version, neutral, content }) =>
      buildApk({
        ...{ name, version: `${version}-r0`, arch: neutral ? 'noarch' : 'x86_64' },
        files: { [`usr/share/${name}`]: content },
      }),
    changed: (facts) => withFields(facts, ['provider_priority', '10']),
  },
}

function withFields(facts: PackageFacts, field: [string, string]): PackageFacts {
  const record = facts.record as { fields: [string, string][] }
  return { ...facts, record: { ...record, fields: [...record.fields, field] } }
}

/** Events of the packages of a distribution. An event that no package allows is skipped. */
function createLife(codename: string, random: () => number) {
  const offered = house.deps.offered(codename)
  const kind = KINDS[offered.format.id]!
  const below = (n: number) => Math.floor(random() * n)
  const samples = new Map<string, Sample>()
  let made = 0

  async function pick(served: boolean) {
    const rows = await house.db
      .selectFrom('records')
      .select(['id', 'name', 'version', 'status', 'sha256'])
      .where('distribution', '=', codename)
      .where('served', '=', served)
      .where('status', 'in', served ? ['published'] : ['quarantined', 'pending_review'])
      .orderBy('id')
      .execute()
    return rows[below(rows.length)]
  }
  const transact = (work: (tx: Db) => Promise<unknown>) => house.db.transaction().execute(work)
  const change = (id: number, event: 'quarantine' | 'clear' | 'approve' | 'reopen' | 'reject') =>
    transact(async (tx) => changeRecord(tx, audit, await lockRecord(tx, id), { event }, offered))

  async function insert(sample: Sample): Promise<void> {
    const { name, version } = await house.addFile(codename, await kind.build(sample))
    samples.set(`${name} ${version}`, sample)
  }

  const add = () =>
    insert({
      ...{ name: `pkg${made++}`, version: '1.0', content: `content ${random()}` },
      ...{ neutral: below(4) === 0, long: below(6) === 0 },
    })

  async function remove(): Promise<void> {
    const row = await pick(true)
    if (!row) return
    await deleteRecords(house.db, audit, [row.id], {
      offeredOf: () => offered,
      manifestKey: (one) => `${one.name}.json`,
      auditOf: () => ({ action: 'DELETE', result: 'SUCCESS', user: 'test' }),
    })
  }

  async function upgrade(): Promise<void> {
    const row = await pick(true)
    const sample = row && samples.get(`${row.name} ${row.version}`)
    if (sample) await insert({ ...sample, version: `2.${made++}` })
  }

  /** As after signing again: other bytes of the same package. apk finds a package by its name, so it has only one file. */
  async function replaceFile(): Promise<void> {
    const row = await pick(true)
    const sample = row && samples.get(`${row.name} ${row.version}`)
    if (!sample || offered.format.id === 'apk') return upgrade()
    const path = join(house.paths.incoming, `replaced-${made++}`)
    await writeFile(path, await kind.build({ ...sample, content: `other content ${random()}` }))
    const facts = await offered.format.read(path)
    const file = { ...(await measure(path)), filename: offered.format.filename(facts) }
    const { sha256 } = file.digests
    await house.deps.pool.keep(path, { format: offered.format.id, sha256, filename: file.filename })
    await transact(async (tx) => {
      const before = await lockRecord(tx, row.id)
      await insertBlobs(tx, [blobRow(file, facts, house.clock.now())], null)
      await changeRecord(tx, audit, before, { event: 'sign_again', set: { sha256 } }, offered)
    })
  }

  async function renderAgain(): Promise<void> {
    const row = await pick(true)
    if (!row) return
    await transact(async (tx) => {
      const before = await lockRecord(tx, row.id)
      const blob = await tx.selectFrom('blobs').selectAll().where('sha256', '=', row.sha256).executeTakeFirstOrThrow()
      const facts = kind.changed(blob.facts)
      const entries = renderEntries(before, { ...blob, facts }, offered)
      const revision = await lockAndAdvance(tx, codename, { offers: 1, counts: {} })
      await replaceOffer(tx, { id: row.id, revision, cause: 'refresh', entries }, 0)
    })
  }

  async function withdraw(): Promise<void> {
    const row = await pick(true)
    if (row) await change(row.id, 'quarantine')
  }

  async function bringBack(): Promise<void> {
    const row = await pick(false)
    if (!row) return
    if (row.status === 'quarantined') await change(row.id, 'clear')
    await change(row.id, below(4) === 0 ? 'reject' : 'approve')
  }

  async function reopen(): Promise<void> {
    const row = await pick(true)
    if (!row) return
    await change(row.id, 'reopen')
    await change(row.id, 'approve')
  }

  const events = [add, add, add, upgrade, remove, replaceFile, renderAgain, withdraw, bringBack, reopen]
  return {
    /** One to three events. */
    async goOn(): Promise<void> {
      for (let left = 1 + below(3); left > 0; left--) await events[below(events.length)]!()
    },
  }
}

/** The digests of the uncompressed texts of an index, by file; file names may begin with a digest. */
function digestsOf(files: ReadonlyMap<string, Uint8Array>): Record<string, string> {
  const texts: [string, string][] = []
  for (const [path, bytes] of files) {
    // `by-hash` contains the files of all generations.
    if (!path.endsWith('.gz') || path.includes('/by-hash/')) continue
    const text = gunzipSync(bytes)
    const content = path.endsWith('.tar.gz') ? memberOf(text, 'APKINDEX') : text
    texts.push([path.replace(/[0-9a-f]{64}-/, ''), createHash('sha256').update(content).digest('hex')])
  }
  return Object.fromEntries(texts.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** One member of a tar archive. The others (signature, revision) differ in each generation. */
function memberOf(tar: Buffer, name: string): Buffer {
  for (let at = 0; at < tar.length;) {
    const own = tar
      .subarray(at, at + 100)
      .toString()
      .replace(/\0.*$/s, '')
    const size = parseInt(tar.subarray(at + 124, at + 136).toString(), 8) || 0
    if (own === name) return tar.subarray(at + 512, at + 512 + size)
    at += 512 + Math.ceil(size / 512) * 512
  }
  throw new Error(`the archive has no ${name}`)
}

async function servedNow(codename: string): Promise<Record<string, string>> {
  const { base, link } = house.tree(codename)
  const generation = join(base, (await linkedGeneration(link))!)
  const files = new Map<string, Uint8Array>()
  for (const entry of await readdir(generation, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) files.set(path.slice(generation.length + 1), await readFile(path))
  }
  return digestsOf(files)
}

async function renderedAgain(codename: string, revision: number): Promise<Record<string, string>> {
  const offered = house.deps.offered(codename)
  const state = await stateAt(house.db, offered, revision)
  const files = await renderIndex(state, offered, {
    architectures: offered.distribution.architectures,
    ...{ date: house.clock.now(), signers: site.signers, backgroundIndexes: [] },
  })
  return digestsOf(
    new Map(files.map(({ path, content }) => [path, content instanceof Uint8Array ? content : Buffer.concat(content)])),
  )
}

interface Seen {
  codename: string
  revision: number
  digests: Record<string, string>
}

test('100 random kept revisions of all formats are rendered from the offers as they were served', async () => {
  const seed = Number(process.env['PAST_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
  const random = createRandom(seed)
  const lives = CODENAMES.map((codename) => ({ codename, life: createLife(codename, random) }))
  const seen: Seen[] = []
  const step = async () => {
    house.clock.advance(HOUR)
    for (const { codename, life } of lives) {
      await life.goOn()
      if (random() < 0.1) await house.publisher.rebuild(codename)
      else await house.publisher.converge(codename)
      const row = await house.db
        .selectFrom('distributions')
        .select('published_revision as revision')
        .where('codename', '=', codename)
        .executeTakeFirstOrThrow()
      if (seen.findLast((one) => one.codename === codename)?.revision !== row.revision)
        seen.push({ codename, revision: row.revision, digests: await servedNow(codename) })
    }
  }
  for (let n = 0; n < STEPS; n++) await step()

  // The oldest publications are pruned, and with them the entries that only they had.
  await house.db.updateTable('offers').set({ unlink_at: null }).execute()
  const offersBefore = await countOf('offers')
  await createHistory({ ...house, days: () => (STEPS * 0.85) / 24 }).prune()
  expect(await countOf('offers'), `seed ${seed}`).toBeLessThan(offersBefore)
  expect(await strayEntries(), `seed ${seed}`).toEqual([])

  // Afterwards the distributions change again.
  await step()
  const publications = await house.db.selectFrom('publications').select(['distribution', 'revision']).execute()
  const kept = new Set(publications.map(({ distribution, revision }) => `${distribution} ${revision}`))
  const candidates = seen.filter(({ codename, revision }) => kept.has(`${codename} ${revision}`))
  expect(candidates.length, `seed ${seed}`).toBeGreaterThanOrEqual(CHECKED)
  expect(candidates.length, `seed ${seed}`).toBeLessThan(seen.length)
  for (let n = 0; n < CHECKED; n++) {
    const [{ codename, revision, digests }] = candidates.splice(Math.floor(random() * candidates.length), 1) as [Seen]
    const what = `${formatOf(codename).id} ${codename} revision ${revision}, seed ${seed} (PAST_SEED)`
    expect(Object.keys(digests).length, what).toBeGreaterThan(0)
    expect(await renderedAgain(codename, revision), what).toEqual(digests)
  }
})

const countOf = async (table: 'offers'): Promise<number> =>
  (await house.db.selectFrom(table).select('package_id').execute()).length

/** Entries without an offer, and offers without entries. */
async function strayEntries(): Promise<unknown[]> {
  const key = (row: { package_id: number; until_revision: number | null }) => `${row.package_id} ${row.until_revision}`
  const columns = ['package_id', 'until_revision'] as const
  const offers = new Set((await house.db.selectFrom('offers').select(columns).execute()).map(key))
  const rows = await house.db.selectFrom('offer_entries').select(columns).execute()
  const pieces = await house.db.selectFrom('offer_entry_pieces').select(columns).execute()
  const entries = new Set([...rows, ...pieces].map(key))
  expect(pieces.length).toBeGreaterThan(0)
  return [...entries].filter((one) => !offers.has(one)).concat([...offers].filter((one) => !entries.has(one)))
}
