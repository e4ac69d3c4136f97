// The runtime settings: stored in `settings.json` and shared by replicas. A change is applied completely or not at all.
import { dirname } from 'node:path'
import type { Settings } from '../../domain/settings.ts'
import type { Bus } from '../../kernel/bus.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import type { SecretBox } from '../../kernel/crypto.ts'
import { ensureDirectory, replaceFile } from '../../kernel/files.ts'
import { isRemote } from '../../kernel/remote.ts'
import { createSerial } from '../../kernel/serial.ts'
import { withFileLock } from './file-lock.ts'
import { differing, effective, frozen, LEAVES, masked, nest, type Mode, type Values } from './leaves.ts'
import { readPatch } from './patch.ts'
import { createSettingsFile } from './settings-file.ts'
import { parseStored, printStored, SettingsFileError, type Stored } from './stored.ts'

export interface SettingsMeta {
  repo_format: string
  edition: string
  updated_at: string | null
  updated_by: string | null
  revision: number
  /** settings (`section.key`) and environment variables that are accepted but have no effect yet */
  inactive: string[]
}

/** The document as the API answers it: secrets `***` when set, `""` when not. */
export type SettingsDocument = Settings & { _meta: SettingsMeta }

export interface PatchResult {
  document: SettingsDocument
  /** paths whose value in force changed, never their values */
  changedKeys: string[]
}

export interface SettingsStore {
  /**
   * Reads the file, or creates it. Must be called once, before everything else.
   * @returns sentences to be logged as warnings
   * @throws SettingsFileError when the file cannot be read or used: the service must not start with guessed settings
   */
  load(): Promise<{ warnings: string[] }>
  /** The settings in force, secrets in the clear, frozen. Checks for a newer file at most once a second. */
  current(): Settings
  masked(): SettingsDocument
  /**
   * Merges a partial document, nested or with flat keys, completely or not at all.
   * @param check receives the state before the change, and throws to refuse the change
   * @throws Problem('unknown_key') or Problem('validation_error') with every field at fault
   */
  patch(input: unknown, user: string, check?: (before: SettingsMeta) => void): Promise<PatchResult>
  /** The same for the keys of one section; fields of errors are named without it. */
  patchSection(
    section: 'cve_policy',
    input: unknown,
    user: string,
    check?: (before: SettingsMeta) => void,
  ): Promise<PatchResult>
}

const INACTIVE_SETTINGS = [...LEAVES.values()].filter(({ inactive }) => inactive !== null).map(({ path }) => path)

const LOOK_EVERY_MS = 1000

/**
 * @param path `settings.json` below REPOS_DIR
 * @param onError called when a file changed by another replica cannot be used; the previous settings stay in force
 */
export function createSettings(deps: {
  path: string
  secretBox: SecretBox
  clock: Clock
  bus: Bus
  repoFormat: string
  edition: string
  mode: Mode
  /** names of environment variables without effect */
  inactiveVariables: readonly string[]
  onError: (error: unknown) => void
}): SettingsStore {
  const { path, secretBox, clock, bus, mode } = deps
  const serially = createSerial()
  const file = createSettingsFile(path)
  let isLooking = false
  let stored: Stored | null = null
  let values: Values = new Map()
  let settings: Settings | null = null
  /** marks of the file in force and of the file checked last; they differ while the newest file is unusable */
  let mark = ''
  let seenMark = ''
  let lookedAt = -Infinity

  function adopt(next: Stored, nextMark: string): string[] {
    const before = values
    const wasLoaded = stored !== null
    stored = next
    values = effective(next.set, mode)
    settings = frozen(values)
    mark = seenMark = nextMark
    return wasLoaded ? differing(before, values) : []
  }

  /** Loads what another replica wrote. @throws SettingsFileError when it is unusable */
  function look(): void {
    const seen = file.mark()
    if (seen === mark) return
    const changed = adopt(readStored(), seen)
    if (changed.length > 0) bus.emit('settings', { changed })
  }

  /** Reports an unusable file once, not every second. */
  function lookOnce(): void {
    const seen = file.mark()
    if (seen === seenMark) return
    seenMark = seen
    look()
  }

  /** For remote files, where a check may hang while the server is away. The previous settings stay in force meanwhile. */
  function lookLater(): void {
    if (isLooking) return
    isLooking = true
    const looked = file.refresh().then(lookOnce)
    void looked.catch(deps.onError).finally(() => (isLooking = false))
  }

  function readStored(): Stored {
    try {
      return parseStored(file.text(), secretBox)
    } catch (error) {
      if (!(error instanceof SettingsFileError) || error.cause !== undefined) throw error
      throw new SettingsFileError(`the settings file ${path} cannot be used: ${error.message}`)
    }
  }

  function document(): SettingsDocument {
    const { revision, updatedAt: updated_at, updatedBy: updated_by } = stored as Stored
    const meta: SettingsMeta = {
      repo_format: deps.repoFormat,
      edition: deps.edition,
      updated_at,
      updated_by,
      revision,
      inactive: [...INACTIVE_SETTINGS, ...deps.inactiveVariables],
    }
    return { ...(nest(masked(values)) as unknown as Settings), _meta: meta }
  }

  function current(): Settings {
    if (settings === null) throw new Error('the settings are not loaded yet')
    // A clock that was set back must not stop the checks.
    if (Math.abs(clock.now().getTime() - lookedAt) >= LOOK_EVERY_MS) {
      lookedAt = clock.now().getTime()
      if (isRemote(path)) lookLater()
      else
        try {
          lookOnce()
        } catch (error) {
          deps.onError(error)
        }
    }
    return settings
  }

  function change(
    input: unknown,
    user: string,
    check?: (before: SettingsMeta) => void,
    section?: string,
  ): Promise<PatchResult> {
    current()
    return serially(() =>
      withFileLock(path, clock, async () => {
        await file.refresh()
        look()
        const before = stored as Stored
        check?.(document()._meta)
        const changes = readPatch(input, values, section)
        const changedKeys = differing(values, new Map([...values, ...changes]))
        if (changedKeys.length === 0) return { document: document(), changedKeys }
        const set = new Map([...before.set, ...changedKeys.map((key): [string, unknown] => [key, changes.get(key)])])
        const next: Stored = {
          ...before,
          set,
          revision: before.revision + 1,
          updatedAt: isoTime(clock.now()),
          updatedBy: user,
        }
        const text = printStored(next, secretBox)
        // A file this replica could not read must not be overwritten.
        parseStored(text, secretBox)
        await replaceFile(path, text, 0o600)
        // Loads the file as any other replica does; `current()` may have done so while the write was flushed.
        await file.refresh()
        look()
        return { document: document(), changedKeys }
      }),
    )
  }

  return {
    async load() {
      await ensureDirectory(dirname(path))
      await file.refresh()
      if (file.mark() === '') {
        await withFileLock(path, clock, async () => {
          await file.refresh()
          const empty: Stored = { set: new Map(), revision: 0, updatedAt: null, updatedBy: null, raw: {}, warnings: [] }
          if (file.mark() === '') await replaceFile(path, printStored(empty, secretBox), 0o600)
          await file.refresh()
        })
      }
      const seen = file.mark()
      const read = readStored()
      adopt(read, seen)
      lookedAt = clock.now().getTime()
      return { warnings: read.warnings }
    },
    current,
    masked() {
      current()
      return document()
    },
    patch: (input, user, check) => change(input, user, check),
    patchSection: (section, input, user, check) => change(input, user, check, section),
  }
}
