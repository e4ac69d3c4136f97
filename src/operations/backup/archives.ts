// The archives in BACKUP_DIR: listed, found, deleted, and thinned out.
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isProblem, Problem } from '../../domain/problem.ts'
import { ifMissing, isMissing } from '../../kernel/files.ts'
import { namesIn } from '../../kernel/files-below.ts'
import { parseMissing } from './missing.ts'
import { archivePaths, isArchiveName, madeAt } from './names.ts'
import { ABOUT, readAbout } from './proof.ts'
import { readArchive } from './read-archive.ts'

export interface Archive {
  name: string
  size_bytes: number
  created_at: string
  /** null when the digest file beside it is gone */
  sha256: string | null
  /** number of package files that it lacks */
  missing: number
  /** null for an archive without a list of its entries: an older build made it, or it is damaged */
  format: number | null
}

/** Newest first. */
export async function listArchives(directory: string): Promise<Archive[]> {
  const names = await archivesIn(directory)
  const found = await Promise.all(names.map((name) => archiveOf(directory, name).catch(ifMissing(null))))
  return found.filter((archive) => archive !== null)
}

/** @returns when the newest archive was begun, in seconds since 1970; null without one */
export async function newestAt(directory: string): Promise<number | null> {
  const [newest] = await archivesIn(directory)
  return newest === undefined ? null : Date.parse(madeAt(newest)) / 1000
}

/** Names contain the time in UTC, so sorting them sorts the archives. */
async function archivesIn(directory: string): Promise<string[]> {
  return (await namesIn(directory)).filter(isArchiveName).sort().reverse()
}

/** @throws Problem('invalid_archive_name', 'not_found') */
export async function findArchive(directory: string, name: string): Promise<Archive & { path: string }> {
  const { archive } = archivePaths(directory, name)
  return archiveOf(directory, name).then(
    (found) => ({ ...found, path: archive }),
    (error: unknown) => {
      if (isMissing(error)) throw new Problem('not_found', `there is no backup ${name}`)
      throw error
    },
  )
}

async function archiveOf(directory: string, name: string): Promise<Archive> {
  const { archive, digest, missing } = archivePaths(directory, name)
  const { size } = await stat(archive)
  const text = await readFile(digest, 'utf8').catch(() => '')
  const list = await readFile(missing, 'utf8').catch(ifMissing(null))
  return {
    name,
    size_bytes: size,
    created_at: madeAt(name),
    sha256: /^[0-9a-f]{64}(?= )/.exec(text)?.[0] ?? null,
    missing: list === null ? 0 : parseMissing(list).length,
    format: await formatOf(archive),
  }
}

/** Reads only the first entry. */
async function formatOf(archive: string): Promise<number | null> {
  try {
    for await (const { name, top, content } of readArchive(archive))
      return name === ABOUT ? (await readAbout(content, top)).format : null
  } catch (error) {
    if (!isProblem(error, 'validation_error')) throw error
  }
  return null
}

/** @throws Problem('invalid_archive_name', 'not_found') */
export async function deleteArchive(directory: string, name: string): Promise<void> {
  const { path } = await findArchive(directory, name)
  const { digest, missing } = archivePaths(directory, name)
  await rm(path)
  for (const beside of [digest, missing]) await rm(beside, { force: true })
}

/** Deletes the oldest archives, but never the newest complete one. @returns the names of the deleted ones */
export async function keepNewest(directory: string, count: number): Promise<string[]> {
  const archives = await listArchives(directory)
  const complete = archives.find(({ missing }) => missing === 0)
  const superfluous = archives.slice(count).flatMap(({ name }) => (name === complete?.name ? [] : [name]))
  for (const name of superfluous) await deleteArchive(directory, name)
  return superfluous
}

/** Removes the files of an interrupted backup. Call it while no backup runs. */
export async function removeUnfinished(directory: string): Promise<void> {
  const names = await namesIn(directory).catch(() => [])
  for (const name of names)
    if (name.endsWith('.partial') || /^\.svc_backup_\d{8}_\d{6}$/.test(name))
      await rm(join(directory, name), { recursive: true, force: true })
}
