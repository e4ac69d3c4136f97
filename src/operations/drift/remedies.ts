// The remedy for each finding. Every remedy may run again after a crash.
import { chmod, rm, rmdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { RemedyAction } from '../../domain/drift.ts'
import type { FormatId } from '../../domain/package.ts'
import { isProblem } from '../../domain/problem.ts'
import { removeFile, replaceFile } from '../../kernel/files.ts'
import { statName } from '../../kernel/names.ts'
import { treeOf } from '../../publish/tree/tree.ts'
import { removeUnknown } from '../../publish/tree/remove-unknown.ts'
import { placeBytes } from '../../store/files/placement.ts'
import type { Area, Pool } from '../../store/files/pool.ts'
import { objectOf } from '../../store/objects/object-store.ts'
import type { Manifests } from '../../packages/records/manifests.ts'
import type { DriftDeps } from './drift.ts'
import { noteFinding, type Finding } from './findings.ts'
import { goodCopyOf } from './good-copy.ts'
import { suspectOf } from './inspection.ts'
import { needsOf, type Need } from './needs.ts'
import { ownFiles } from './own-files.ts'
import { namedPaths } from './package-files.ts'
import { placesOf } from './places.ts'

export type RemedyDeps = DriftDeps & {
  pool: Pool
  manifests: Manifests
  /** Removes a record from the index; its bytes leave the pool and the tree. */
  quarantine(
    record: { name: string; version: string; distribution: string; arch: string },
    reason: string,
    by: string,
  ): Promise<unknown>
}

export interface Remedy {
  action: RemedyAction
  detail: string
  /** distributions that are published again afterwards */
  rebuild: string[]
  run(by: string): Promise<void>
}

const nothing = async () => {}
/** For a finding that only a person can resolve. */
export const noRemedy = (detail: string): Remedy => ({ action: 'none', detail, rebuild: [], run: nothing })

export async function remedyFor(deps: RemedyDeps, finding: Finding): Promise<Remedy> {
  switch (finding.area) {
    case 'pool':
    case 'quarantine':
      return finding.fault === 'unknown' ? unknownBytes(deps, finding) : storedBytes(deps, finding)
    case 'tree':
      return finding.fault === 'unknown' ? unknownPackage(deps, finding) : packageLink(deps, finding)
    case 'index':
      return rebuildOf(finding)
    case 'manifests':
      return manifest(deps, finding)
    case 'keys':
    case 'settings':
      return ownFile(deps, finding)
    case 'audit':
      return noRemedy('somebody changed what is the evidence: keep it, and compare it with a backup or an export')
  }
}

function rebuildOf({ distribution }: Finding): Remedy {
  const rebuild = distribution === null ? [] : [distribution]
  return { action: 'rebuild', detail: 'the index and the links are written again', rebuild, run: nothing }
}

/** A link to an object also names its size, which a publish does not compare: a wrong link is made again. */
function packageLink({ paths }: RemedyDeps, finding: Finding): Remedy {
  if (finding.fault === 'missing') return rebuildOf(finding)
  return { ...rebuildOf(finding), run: async () => removeFile(join(paths.root, finding.subject)) }
}

/** Replaces missing or damaged bytes by another intact copy; without one, quarantines the records of the file. */
async function storedBytes(deps: RemedyDeps, { area, sha256 }: Finding): Promise<Remedy> {
  const place = area as 'pool' | 'quarantine'
  const need = sha256 === null ? undefined : (await needsOf(deps.db, [sha256])).get(sha256)
  if (!need?.[place]) return noRemedy('nothing needs it any more')
  const good = await goodCopyOf(deps, need)
  const offeredIn = await distributionsOf(deps, need.sha256)
  if (good !== null)
    return {
      action: 'restore',
      detail: `from ${good.name}`,
      rebuild: offeredIn,
      run: () => good.use((path) => deps.pool.replace(path, need, place)),
    }
  if (place === 'quarantine')
    return noRemedy('there is no good copy: put the file back from a backup, or delete the package and upload it again')
  return {
    action: 'quarantine',
    detail: 'there is no good copy: the package is lost; upload it again after it was deleted',
    rebuild: offeredIn,
    run: (by) => giveUp(deps, need, by),
  }
}

async function distributionsOf({ db }: RemedyDeps, sha256: string): Promise<string[]> {
  const rows = await db
    .selectFrom('offers')
    .select('distribution')
    .distinct()
    .where('sha256', '=', sha256)
    .where('until_revision', 'is', null)
    .execute()
  return rows.map(({ distribution }) => distribution)
}

/** Quarantines the records: clients must not get damaged bytes, and no rescan or approval may publish them again. */
async function giveUp(deps: RemedyDeps, need: Need, by: string): Promise<void> {
  const { db, pool, local } = deps
  const records = await db
    .selectFrom('packages')
    .select(['name', 'version', 'distribution', 'arch'])
    .where('sha256', '=', need.sha256)
    .where('status', 'in', ['published', 'pending_review'])
    .execute()
  for (const record of records) {
    try {
      await deps.quarantine(record, 'the stored file is missing or damaged, and there is no good copy', by)
    } catch (error) {
      // Another lost package prevents writing the index; it is rebuilt once all of them are quarantined.
      if (!isProblem(error, 'publication_failed')) throw error
    }
  }
  await db.updateTable('offers').set({ keeps_bytes: false }).where('sha256', '=', need.sha256).execute()
  await placeBytes(db, pool, need.sha256)
  const moved = local.quarantinePath(need)
  const digest = await deps.hashing.digest(moved).catch(() => null)
  if (digest !== null && digest.sha256 !== need.sha256) await rm(moved, { force: true })
  const [record] = records
  if (!record) return
  const detail = `lost: ${record.name} ${record.version} in ${record.distribution}`
  const more = { sha256: need.sha256, distribution: record.distribution }
  const lost = suspectOf('quarantine', relative(deps.paths.root, moved), 'missing', detail, more)
  await noteFinding(db, lost, deps.clock.now())
}

/** Removes bytes that nothing needs. A file outside the layout, or under another name than its row's, is removed by its path. */
async function unknownBytes(deps: RemedyDeps, { area, subject, sha256 }: Finding): Promise<Remedy> {
  const { db, paths, pool } = deps
  const object = objectOf(subject)
  if (object) return { action: 'delete', detail: 'nothing needs it', rebuild: [], run: () => removeBytes(object) }
  const path = join(paths.root, subject)
  if ((await statName(path))?.isDirectory()) return noRemedy('a directory that is not ours: remove it by hand')
  const need = sha256 === null ? undefined : (await needsOf(db, [sha256])).get(sha256)
  const isItself = need && subject === placesOf(deps)[area as Area].subjectOf(need)
  const [format = ''] = relative(paths.pool, path).split('/')
  const isInPool = area === 'pool' && deps.all.some((offered) => offered.format.id === format)
  const remove = async () => {
    if (sha256 !== null && (isItself || (!need && isInPool))) {
      await removeBytes({ sha256, format: need?.format ?? format })
      return
    }
    await rm(path, { force: true })
    await rmdir(dirname(path)).catch(nothing)
  }
  return { action: 'delete', detail: 'nothing needs it', rebuild: [], run: remove }

  /** The file's row orders this removal and an upload of the same bytes. */
  async function removeBytes(file: { sha256: string; format: FormatId }): Promise<void> {
    if (!(await placeBytes(db, pool, file.sha256, file.format)))
      await db.insertInto('pending_deletions').values({ kind: 'file', key: file.sha256 }).execute()
  }
}

function unknownPackage(deps: RemedyDeps, { subject, distribution }: Finding): Remedy {
  const offered = deps.all.find((one) => one.distribution.codename === distribution)
  if (!offered) return noRemedy('its distribution is not declared any more')
  const path = join(deps.paths.root, subject)
  const isNamed = async () => {
    const below = relative(treeOf(deps.paths, offered.format, offered.distribution).packages, path)
    return (await namedPaths(deps.db, offered, [path])).has(below)
  }
  const { packages } = treeOf(deps.paths, offered.format, offered.distribution)
  return {
    action: 'delete',
    detail: 'no package that is offered has it',
    rebuild: [],
    async run() {
      await removeUnknown(deps, offered, relative(packages, path), isNamed)
    },
  }
}

function manifest({ manifests }: RemedyDeps, { package_id: id }: Finding): Remedy {
  if (id === null)
    return noRemedy('sync-index restores its record; remove the file by hand when the record must not come back')
  return { action: 'write', detail: 'from the record', rebuild: [], run: () => manifests.write([id]) }
}

function ownFile(deps: RemedyDeps, { subject, fault }: Finding): Remedy {
  const file = ownFiles(deps).find(({ path }) => relative(deps.paths.root, path) === subject)
  if (!file) return noRemedy('the service does not use it any more')
  const mode = file.isPrivate ? 0o600 : 0o644
  const write = (detail: string, run: () => Promise<void>): Remedy => ({ action: 'write', detail, rebuild: [], run })
  if (fault === 'wrong_mode') return write(`mode ${mode.toString(8)}`, () => chmod(file.path, mode))
  const { content } = file
  if (content !== null) return write('from the private key', () => replaceFile(file.path, content, mode))
  return noRemedy('put it back from a backup before the service is started again')
}
