// A reader of access logs in a temporary directory, and lines to put there. For tests only.
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findDistribution, formats } from '../../formats/index.ts'
import { createCheckpoint } from '../../kernel/checkpoint.ts'
import type { Db } from '../../store/db.ts'
import type { PackageRow } from '../../store/tables.ts'
import { createDownloads } from './downloads.ts'
import { createDownloadReader, type DownloadReader, type DownloadReaderDeps } from './reader.ts'

export const NOW = new Date('2026-11-23T12:00:00Z')
export const APT = 'Debian APT-HTTP/1.3 (2.6.1)'

export interface Asked {
  file: PackageRow | string
  address?: string
  at?: Date
  status?: number
  bytes?: number
  agent?: string
  method?: string
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The path of a package on its listener. */
export function targetOf({ distribution, sha256, filename, arch }: PackageRow): string {
  const { format, distribution: place } = findDistribution(distribution)!
  const { prefix } = format.serving.tree
  const { packages, packagesName, packagesIn, link } = format.layout(place)
  const path = format.packagePaths({ filename, sha256, arch }, place)[0] as string
  const directory = packages ?? `${link}/${packagesIn[0] ?? packagesName}`
  return `${prefix}${directory.slice(directory.indexOf('/') + 1)}/${path}`
}

/** A line in the combined format. */
export function logLine(asked: Asked): string {
  const { file, address = '192.0.2.1', at = NOW, status = 200, bytes = 1000, agent = APT, method = 'GET' } = asked
  const [date, time] = at.toISOString().split('T') as [string, string]
  const [year, month, day] = date.split('-') as [string, string, string]
  const target = typeof file === 'string' ? file : targetOf(file)
  return `${address} - - [${day}/${MONTHS[Number(month) - 1]}/${year}:${time.slice(0, 8)} +0000] "${method} ${target} HTTP/1.1" ${status} ${bytes} "-" "${agent}"\n`
}

export interface ReaderBench {
  /** of our listeners */
  ours: string
  /** of nginx */
  nginx: string
  clock: { at: Date; now(): Date }
  settings: {
    downloads: { nginx_logs: string; count: 'both' | 'nginx' | 'listeners' }
    retention: { access_log_days: number }
  }
  warnings: unknown[]
  reader: DownloadReader
  /** another process on the same database */
  another(more?: Partial<DownloadReaderDeps>): DownloadReader
  read(): Promise<void>
  downloads: ReturnType<typeof createDownloads>
  close(): Promise<void>
}

export async function createReaderBench(db: Db): Promise<ReaderBench> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'gatehouse-downloads-')))
  const [ours, nginx] = [join(root, 'ours'), join(root, 'nginx')]
  await Promise.all([mkdir(ours), mkdir(nginx)])
  const clock = { at: NOW, now: () => clock.at }
  const settings = {
    downloads: { nginx_logs: '', count: 'nginx' as 'both' | 'nginx' | 'listeners' },
    retention: { access_log_days: 90 },
  }
  const warnings: unknown[] = []
  const trees = formats.map((format) => ({ format, prefix: format.serving.tree.prefix }))
  const another = (more: Partial<DownloadReaderDeps> = {}) =>
    createDownloadReader({
      ...{ db, clock, directory: ours, nginxDirectories: [nginx] },
      settings: () => settings as never,
      log: { warn: (about: unknown) => void warnings.push(about) },
      checkpoint: createCheckpoint(undefined),
      place(target) {
        const found = trees
          .filter(({ prefix }) => target.startsWith(prefix))
          .sort((a, b) => b.prefix.length - a.prefix.length)[0]
        return found ? { format: found.format, path: target.slice(found.prefix.length) } : null
      },
      find: findDistribution,
      library: () => null,
      suffixes: formats.flatMap((format) => format.suffixes),
      ...more,
    })
  const reader = another()
  return {
    ...{ ours, nginx, clock, settings, warnings, reader, another },
    read: () => reader.catchUp(() => false),
    downloads: createDownloads({ db, clock, settings: () => settings as never }),
    close: () => rm(root, { recursive: true, force: true }),
  }
}
