// Background index of the advisories that published packages fix (rpm `updateinfo`).
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Advisory, AffectedPackage } from '../../domain/advisory.ts'
import type { Distribution } from '../../domain/package.ts'
import type { UpdateAdvisory, Offered, OfferedFile } from '../../formats/format.ts'
import { ensureDirectory, exists, replaceFile } from '../../kernel/files.ts'
import { BEFORE_ALL, nextOffers } from '../../store/records/served-query.ts'
import type { Db } from '../../store/db.ts'
import type { Paths } from '../../store/paths.ts'
import type { BackgroundIndexRow } from '../../store/tables.ts'
import { treeOf } from '../tree/tree.ts'
import type { Publisher } from '../publisher.ts'
import type { BackgroundIndex } from './background-index.ts'
import { noteBackgroundIndexes } from './note-index.ts'

/** Packages in one query for advisories. */
const BATCH = 1000

export interface UpdateinfoDeps {
  db: Db
  paths: Paths
  publisher: Publisher
  advisories: {
    state(): Promise<{ generation: number; ecosystems: Readonly<Record<string, unknown>> }>
    candidates(
      generation: number,
      ecosystems: readonly string[],
      names: readonly string[],
    ): Promise<{ key: number; affected: AffectedPackage }[]>
    advisories(keys: readonly number[]): Promise<Map<number, Advisory>>
  }
  /** whether advisories of that ecosystem apply to the distribution */
  covers(distribution: Distribution, ecosystem: string): boolean
}

export function createUpdateinfo(deps: UpdateinfoDeps): BackgroundIndex {
  const { db } = deps
  /** revision and advisory generation of the last check, for distributions without a list */
  const checked = new Map<string, string>()

  /** @returns the packages and advisories to make it from; null when it is not due */
  async function dueFor({ format, distribution }: Offered) {
    const { updateinfo } = format
    if (!updateinfo) return null
    const { codename } = distribution
    const row = await db
      .selectFrom('distributions')
      .select(['revision', 'background_indexes'])
      .where('codename', '=', codename)
      .executeTakeFirst()
    if (!row) return null
    const { generation, ecosystems } = await deps.advisories.state()
    const covering = Object.keys(ecosystems).filter((name) => deps.covers(distribution, name))
    const { background } = treeOf(deps.paths, format, distribution)
    // All architectures have the same list: it names the architecture of each package.
    const present = distribution.architectures.map((arch) =>
      row.background_indexes.find((index) => index.path === updateinfo.path(index.sha256, arch)),
    )
    const isComplete = present.every((index) => index !== undefined)
    const known = present.find((index) => index !== undefined)
    const place = `${row.revision}:${generation}`
    if (!known && (covering.length === 0 || checked.get(codename) === place)) return null
    if (
      known &&
      isComplete &&
      known.revision >= row.revision &&
      known.advisoryGeneration === generation &&
      (await exists(join(background, known.sha256)))
    )
      return null
    return { updateinfo, revision: row.revision, generation, covering, background, present, known, place }
  }

  return {
    name: 'updateinfo',
    isDue: async (offered) => (await dueFor(offered)) !== null,
    async make(offered, signal) {
      const due = await dueFor(offered)
      if (!due) return false
      const { distribution } = offered
      const { codename } = distribution
      const { updateinfo, revision, generation, present, known } = due
      const found = await collect(deps, distribution, generation, due.covering, signal)
      const text = updateinfo.render(found.known, found.offered, distribution)
      checked.set(codename, due.place)
      if (text === null && !known) return false
      const index = text === null ? null : await store(text, due.background)
      const indexes = index
        ? distribution.architectures.map((arch) => ({
            ...index,
            path: updateinfo.path(index.sha256, arch),
            advisoryGeneration: generation,
          }))
        : []
      const before = present.flatMap((one) => (one ? [one.path] : []))
      await noteBackgroundIndexes(db, codename, before, indexes, revision)
      await deps.publisher.converge(codename)
      return true
    },
  }
}

async function store(text: string, directory: string): Promise<Omit<BackgroundIndexRow, 'revision' | 'path'>> {
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
  const plain = Buffer.from(text)
  const packed = await promisify(gzip)(plain)
  const sha256 = digest(packed)
  await ensureDirectory(directory)
  await replaceFile(join(directory, sha256), packed)
  return {
    sizeBytes: packed.byteLength,
    sha256,
    plain: { sizeBytes: plain.byteLength, sha256: digest(plain) },
  }
}

/** The published packages and the advisories about them. An advisory for a source package applies to each package built from it. */
async function collect(
  { db, advisories }: UpdateinfoDeps,
  distribution: Distribution,
  generation: number,
  ecosystems: readonly string[],
  signal: AbortSignal,
): Promise<{ known: UpdateAdvisory[]; offered: OfferedFile[] }> {
  const offered: OfferedFile[] = []
  const affected = new Map<number, AffectedPackage[]>()
  for (let after = BEFORE_ALL; ;) {
    signal.throwIfAborted()
    const rows = await nextOffers(db, distribution.codename, after, BATCH)
      .innerJoin('blobs', 'blobs.sha256', 'offers.sha256')
      .select(['offers.name', 'version', 'arch', 'offers.filename', 'source_package', 'package_id'])
      .execute()
    const madeFrom = new Map<string, Set<string>>()
    for (const { name, version, arch, filename, source_package: source } of rows) {
      offered.push({ facts: { name, version, arch }, filename })
      for (const one of [name, source ?? name]) madeFrom.set(one, (madeFrom.get(one) ?? new Set()).add(name))
    }
    for (const { key, affected: about } of await advisories.candidates(generation, ecosystems, [...madeFrom.keys()])) {
      const list = affected.get(key) ?? []
      for (const name of madeFrom.get(about.package) ?? [])
        if (!list.some((other) => other.package === name)) list.push({ ...about, package: name })
      affected.set(key, list)
    }
    if (rows.length < BATCH) break
    after = rows.at(-1) ?? after
  }
  const read = await advisories.advisories([...affected.keys()])
  return {
    offered,
    known: [...affected].flatMap(([key, list]) =>
      read.has(key) ? [{ advisory: read.get(key)!, affected: list }] : [],
    ),
  }
}
