// The list of files in an rpm header: paths, kinds and sizes.
import { invalid } from '../archive/limits.ts'
import { createFileCount, MOST_FILES } from '../bounds.ts'
import type { Header } from './header.ts'
import { TAG } from './tags.ts'
import { isXmlText } from './xml.ts'

/** Ghosts belong to the package but are not in the payload. A directory that is a ghost counts as a directory. */
export type FileKind = 'file' | 'directory' | 'ghost'

export interface RpmFile {
  /** absolute */
  path: string
  kind: FileKind
  mode: number
}

// rpm also lists the directories that a package owns, which may be as many again.
const MOST_ENTRIES = 2 * MOST_FILES
const GHOST = 1 << 6
const KIND_BITS = 0o170000
const DIRECTORY = 0o040000
const REGULAR = 0o100000
const SYMBOLIC_LINK = 0o120000

/** In the order of the header. @throws Problem('invalid_package') */
export function readFiles(header: Header): RpmFile[] {
  const paths = readPaths(header)
  const modes = header.numbers(TAG.FILEMODES, MOST_ENTRIES)
  const flags = header.numbers(TAG.FILEFLAGS, MOST_ENTRIES)
  const count = createFileCount()
  if (modes.length !== paths.length || (flags.length > 0 && flags.length !== paths.length)) throw inconsistent()
  return paths.map((path, index) => {
    const mode = modes[index]!
    const kind = (mode & KIND_BITS) === DIRECTORY ? 'directory' : (flags[index] ?? 0) & GHOST ? 'ghost' : 'file'
    if (kind !== 'directory') count.add(path)
    return { path, kind, mode }
  })
}

export const isRegular = (mode: number): boolean => (mode & KIND_BITS) === REGULAR

/**
 * How many bytes each file has in a payload of stripped entries. Of hard links, only the last name has bytes
 * (https://rpm.org/docs/4.20.x/manual/format_payload.html).
 */
export function createStrippedSizes(
  header: Header,
  files: readonly RpmFile[],
): (fileIndex: number) => number | undefined {
  let known: ReturnType<typeof sizesAndLinks> | null = null
  return (index) => {
    const file = files[index]
    if (!file) return undefined
    const { sizes, inodes, lastOfInode } = (known ??= sizesAndLinks(header, files))
    if ((file.mode & KIND_BITS) === SYMBOLIC_LINK) return sizes[index]
    if (!isRegular(file.mode)) return 0
    const inode = inodes[index]
    return inode !== undefined && lastOfInode.get(inode) !== index ? 0 : sizes[index]
  }
}

function sizesAndLinks(header: Header, files: readonly RpmFile[]) {
  const tag = header.has(TAG.LONGFILESIZES) ? TAG.LONGFILESIZES : TAG.FILESIZES
  const sizes = header.numbers(tag, MOST_ENTRIES)
  const inodes = header.numbers(TAG.FILEINODES, MOST_ENTRIES)
  const lastOfInode = new Map<number, number>()
  files.forEach(({ mode, kind }, index) => {
    const inode = inodes[index]
    if (inode !== undefined && kind === 'file' && isRegular(mode)) lastOfInode.set(inode, index)
  })
  return { sizes, inodes, lastOfInode }
}

// One test for each of perhaps half a million paths. Most surrogates it finds are halves of valid pairs.
const SUSPECT = /[\u0000-\u001f\ufffe\uffff\ud800-\udfff]|\.\./

/** A path as rpm installs it. @throws Problem('invalid_package') for a path that would leave the root */
export function checkPath(path: string): string {
  if (!SUSPECT.test(path)) return path
  if (path.includes('\n')) throw invalid('the package has a line feed in a file name')
  // Dropping the character would give another file's name.
  if (!isXmlText(path)) throw invalid('the package has a control character in a file name')
  if (path.split('/').includes('..')) throw invalid('the package has a file name that leads out of its directory')
  return path
}

function readPaths(header: Header): string[] {
  const names = header.texts(TAG.BASENAMES, MOST_ENTRIES)
  const paths = names.length > 0 ? join(header, names) : header.texts(TAG.OLDFILENAMES, MOST_ENTRIES)
  for (const path of paths) {
    if (!path.startsWith('/')) throw invalid('the package has a file name that is not absolute')
    checkPath(path)
  }
  return paths
}

function join(header: Header, names: readonly string[]): string[] {
  const directories = header.texts(TAG.DIRNAMES, MOST_ENTRIES)
  const indexes = header.numbers(TAG.DIRINDEXES, MOST_ENTRIES)
  if (indexes.length !== names.length) throw inconsistent()
  return names.map((name, index) => {
    const directory = directories[indexes[index]!]
    if (directory === undefined) throw inconsistent()
    return directory + name
  })
}

const inconsistent = () => invalid('the rpm header has a list of files that does not agree with itself')
