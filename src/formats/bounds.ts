// The bounds of what a package may declare: far above any real package, low enough that no package is a burden.
import { invalid } from './archive/limits.ts'

/** Bounds of one format. Characters are UTF-16 code units. */
export interface Bounds {
  /** relations of one kind: Depends, requires, … Each alternative counts. */
  relations: number
  /** relations of all kinds but provides */
  allRelations: number
  provides: number
}

/**
 * The largest of Debian 12 (November 2026): 646 relations in one field and 980 in all (med-bio), 1,603 provides
 * (librust-winapi-dev). In rpm, kernel modules require thousands of symbols and kernels provide some ten thousands.
 */
export const BOUNDS = {
  deb: { relations: 4096, allRelations: 8192, provides: 16_384 },
  rpm: { relations: 8192, allRelations: 16_384, provides: 65_536 },
  apk: { relations: 4096, allRelations: 8192, provides: 8192 },
} as const satisfies Record<string, Bounds>

/**
 * Files of one package. The largest in Debian 12 has 116,010 (papirus-icon-theme). A larger one, for example of
 * node_modules, may be legitimate in few cases; it is refused, because an rpm of 250,000 files took 600 MB until it was indexed.
 */
export const MOST_FILES = 125_000
/** Total of all file names: 260 characters for each of `MOST_FILES`. */
const MOST_NAME_CHARACTERS = 32 * 1024 ** 2
/** One name: the limit of Linux. */
const LONGEST_NAME = 4095

/** A text of one line: summary, licence, maintainer. Licence expressions of large bundles have 5,000 characters. */
const LONGEST_LINE = 16_384
/** A text of many lines: description, one field of a control file. The longest in Debian 12 has 11,192 characters. */
const LONGEST_TEXT = 262_144
/** A relationship field as text; librust-winapi-dev has 75,639 characters, kernels about a million. */
const LONGEST_RELATIONS = 4 * 1024 * 1024

/** @throws Problem('invalid_package') for a `text` of more than 16,384 characters */
export function checkLine(what: string, text: string | null): void {
  if (text !== null && text.length > LONGEST_LINE) throw tooLong(what, text.length, LONGEST_LINE)
}

/** @throws Problem('invalid_package') for a `text` of more than 262,144 characters */
export function checkText(what: string, text: string): void {
  if (text.length > LONGEST_TEXT) throw tooLong(what, text.length, LONGEST_TEXT)
}

/** @throws Problem('invalid_package') for a `text` of more than 4,194,304 characters */
export function checkRelationsText(what: string, text: string): void {
  if (text.length > LONGEST_RELATIONS) throw tooLong(what, text.length, LONGEST_RELATIONS)
}

/** @param what names the things counted: `provides`, `relations in Depends` */
export function checkCount(what: string, count: number, most: number): void {
  if (count > most) throw invalid(`the package declares ${shown(count)} ${what}; at most ${shown(most)} are accepted`)
}

/** Counts the files of one package while they are read. */
export interface FileCount {
  /** @throws Problem('invalid_package') when there are too many, or their names are too long */
  add(name: string): void
}

export function createFileCount(): FileCount {
  let count = 0
  let characters = 0
  return {
    add(name) {
      count++
      characters += name.length
      if (count > MOST_FILES)
        throw invalid(`the package has more than ${shown(MOST_FILES)} files, which is the most accepted`)
      if (name.length > LONGEST_NAME) throw tooLong('a file name', name.length, LONGEST_NAME)
      if (characters > MOST_NAME_CHARACTERS)
        throw invalid(`the package has file names of more than ${shown(MOST_NAME_CHARACTERS)} characters together`)
    },
  }
}

const tooLong = (what: string, length: number, most: number) =>
  invalid(`the package has ${what} of ${shown(length)} characters; at most ${shown(most)} are accepted`)

const shown = (count: number): string => count.toLocaleString('en-US')

/** A short, printable piece of a package's text, for sentences. */
export function quote(text: string): string {
  return JSON.stringify(text.trim().slice(0, 80))
}
