// Names of backup archives, and the files beside them.
import { join } from 'node:path'
import { Problem } from '../../domain/problem.ts'

/** docs/api-decisions.md, section 16 */
const NAME = /^svc_backup_\d{8}_\d{6}\.tar\.gz$/

/** @returns the name of an archive made at this time, in UTC */
export function archiveName(now: Date): string {
  const [day = '', time = ''] = now.toISOString().split('T')
  return `svc_backup_${day.replaceAll('-', '')}_${time.slice(0, 8).replaceAll(':', '')}.tar.gz`
}

export function isArchiveName(name: string): boolean {
  return NAME.test(name)
}

/** When the archive of this name was begun; in ISO 8601. */
export function madeAt(name: string): string {
  const [, year, month, day, hour, minute, second] =
    /_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)/.exec(name)?.map(String) ?? []
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.000+00:00`
}

/** The directory at the top of the archive. */
export const topOf = (name: string) => name.replace(/\.tar\.gz$/, '')

export interface ArchivePaths {
  archive: string
  /** the archive before it is verified */
  partial: string
  /** its SHA-256, as sha256sum(1) writes it */
  digest: string
  /** the list of package files that it lacks; there is none for a complete archive */
  missing: string
  /** scratch space while it is made */
  scratch: string
}

/** @throws Problem('invalid_archive_name') */
export function archivePaths(directory: string, name: string): ArchivePaths {
  if (!isArchiveName(name))
    throw new Problem('invalid_archive_name', 'an archive is named svc_backup_<YYYYMMDD>_<HHMMSS>.tar.gz')
  const archive = join(directory, name)
  return {
    archive,
    partial: `${archive}.partial`,
    digest: `${archive}.sha256`,
    missing: `${archive}.missing.json`,
    scratch: join(directory, `.${topOf(name)}`),
  }
}
