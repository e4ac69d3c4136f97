// The list of files in the record of an rpm: long ones are not stored twice, because the facts have the paths already.
import type { FileKind, RpmFile } from './files.ts'

export interface FileList {
  /** directories that `files` refer to by index; with `kinds`, those that the package owns */
  directories: string[]
  files: [directory: number, name: string, kind: FileKind][]
  /** of a long list, in place of `files`: a letter for each file and directory, in the order of the header */
  kinds?: string
}

/**
 * Characters of all paths. Facts of a package with 120,000 paths of 260 characters were 32 MB of JSON, for which the
 * embedded database took 280 MB. Shorter lists stay as earlier builds read them.
 */
const LONG = 64 * 1024

const LETTERS: Record<FileKind, string> = { file: 'f', directory: 'd', ghost: 'g' }

/** @param files in the order of the header */
export function packFileList(files: readonly RpmFile[]): FileList {
  const characters = files.reduce((sum, { path }) => sum + path.length, 0)
  if (characters <= LONG) return inDirectories(files)
  return {
    directories: files.flatMap(({ path, kind }) => (kind === 'directory' ? [path] : [])),
    files: [],
    kinds: files.map(({ kind }) => LETTERS[kind]).join(''),
  }
}

/** Stores each directory once, because directories make up most of a list of files. */
function inDirectories(files: readonly RpmFile[]): FileList {
  const indexes = new Map<string, number>()
  const packed = files.map(({ path, kind }): FileList['files'][number] => {
    const cut = path.lastIndexOf('/') + 1
    const directory = path.slice(0, cut)
    const index = indexes.get(directory) ?? indexes.size
    indexes.set(directory, index)
    return [index, path.slice(cut), kind]
  })
  return { directories: [...indexes.keys()], files: packed }
}

/** Files and directories in the order of the header. */
export function* fileListOf({
  record,
  files,
}: {
  record: FileList
  files: readonly string[]
}): Generator<Omit<RpmFile, 'mode'>> {
  if (record.kinds === undefined) {
    for (const [directory, name, kind] of record.files) yield { path: record.directories[directory]! + name, kind }
    return
  }
  let directory = 0
  let file = 0
  for (const letter of record.kinds) {
    if (letter === LETTERS.directory) yield { path: record.directories[directory++]!, kind: 'directory' }
    else yield { path: `/${files[file++]!}`, kind: letter === LETTERS.ghost ? 'ghost' : 'file' }
  }
}
