// The file of the settings: checked by requests on a local disk, in the background on a remote one.
import { readFileSync, statSync, type BigIntStats } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { isMissing } from '../../kernel/files.ts'
import { isRemote } from '../../kernel/remote.ts'
import { createShared } from '../../kernel/shared.ts'
import { SettingsFileError } from './stored.ts'

export interface SettingsFile {
  /** Identifies a state of the file without reading it: a replaced file has another inode. Empty when the file is missing. */
  mark(): string
  /** @throws SettingsFileError when it cannot be read */
  text(): string
  /** Until this ends, `mark` and `text` may be of an earlier state. @throws SettingsFileError when it cannot be read */
  refresh(): Promise<void>
}

export function createSettingsFile(path: string): SettingsFile {
  return isRemote(path) ? remoteFile(path) : localFile(path)
}

function localFile(path: string): SettingsFile {
  return {
    mark() {
      try {
        return markOf(statSync(path, { bigint: true }))
      } catch (error) {
        return emptyIfMissing(path, error)
      }
    },
    text() {
      try {
        return readFileSync(path, 'utf8')
      } catch (error) {
        throw unreadable(path, error)
      }
    },
    refresh: async () => {},
  }
}

function remoteFile(path: string): SettingsFile {
  let known = { mark: '', text: '' }
  return {
    mark: () => known.mark,
    text: () => known.text,
    refresh: createShared(async () => {
      try {
        // In this order: if the file is replaced in between, it has the old mark and is read again.
        const mark = markOf(await stat(path, { bigint: true }))
        if (mark !== known.mark) known = { mark, text: await readFile(path, 'utf8') }
      } catch (error) {
        known = { mark: emptyIfMissing(path, error), text: '' }
      }
    }),
  }
}

const markOf = ({ ino, mtimeNs, ctimeNs, size }: BigIntStats) => [ino, mtimeNs, ctimeNs, size].join(' ')

function emptyIfMissing(path: string, error: unknown): string {
  if (isMissing(error)) return ''
  throw unreadable(path, error)
}

function unreadable(path: string, error: unknown): SettingsFileError {
  return new SettingsFileError(`the settings file ${path} cannot be read`, { cause: error })
}
