// Downloads: the reader of access logs, and the statistics from them.
import { createDownloads } from '../../operations/downloads/downloads.ts'
import { createDownloadReader } from '../../operations/downloads/reader.ts'
import type { LibraryTarget, PlacedTarget } from '../../operations/downloads/resolve.ts'
import { segmentsOf } from '../../api/http/paths.ts'
import { repositoryKey } from '../../domain/repositories.ts'
import { formats, registryFormats } from '../../formats/index.ts'
import { mountsOf } from '../../serve/mounts.ts'
import { locate } from '../../serve/request-path.ts'
import type { Foundation } from './foundation.ts'
import type { Publishing } from './publishing.ts'

export type DownloadCounting = ReturnType<typeof createDownloadCounting>

export function createDownloadCounting(
  { env, db, clock, bus, log, checkpoint, settings, onError }: Foundation,
  { registry }: Publishing,
) {
  // A log does not name the listener that answered, but the addresses of the trees differ.
  const listeners = [...new Set(formats.map(({ serving }) => serving.listener))]
  const mounts = listeners.flatMap((listener) => mountsOf(listener, formats, formats))
  const place = (target: string): PlacedTarget | null => {
    const found = locate(target, mounts)
    if (typeof found === 'string' || !found.mount.format) return null
    return { format: found.mount.format, path: found.path.slice(found.mount.path.length + 1) }
  }
  const library = (target: string): LibraryTarget | null => {
    const [id, name, ...rest] = segmentsOf(target) ?? []
    const format = registryFormats.find((one) => one.id === id)
    const file = format?.fileAt(rest.join('/'))
    return format && file && name !== undefined
      ? { ...file, format: format.id, repository: repositoryKey({ format: format.id, name }) }
      : null
  }
  const deps = { db, clock, settings: settings.current }
  const reader = createDownloadReader({
    ...{ ...deps, log, checkpoint, place, library, find: registry.find },
    directory: env.accessLogDir,
    nginxDirectories: env.accessLogDirectories,
    suffixes: [...formats, ...registryFormats].flatMap((format) => format.suffixes),
  })
  bus.on('settings', ({ changed }) => {
    if (changed.some((path) => path.startsWith('downloads.'))) void reader.noteChoice().catch(onError)
  })
  return { downloads: createDownloads(deps), reader }
}
