// The newest changelog entries of an rpm header, for other.xml.
import { invalid } from '../archive/limits.ts'
import type { Header } from './header.ts'
import { TAG } from './tags.ts'

/** @param time seconds since 1970 */
export type Changelog = [author: string, time: number, text: string]

/** As many as createrepo_c writes. */
const KEPT = 10
const MOST_ENTRIES = 100_000
/** Total characters of the kept entries. */
const LONGEST_TEXTS = 1024 * 1024

/** Oldest first. @throws Problem('invalid_package') for lists of different lengths */
export function readChangelogs(header: Header): Changelog[] {
  const times = header.numbers(TAG.CHANGELOGTIME, MOST_ENTRIES)
  const count = times.length
  if (header.count(TAG.CHANGELOGNAME) !== count || header.count(TAG.CHANGELOGTEXT) !== count) {
    throw invalid('the rpm header has changelogs that do not agree with each other')
  }
  // The header lists the newest first.
  const authors = header.textsBetween(TAG.CHANGELOGNAME, 0, KEPT)
  const texts = header.textsBetween(TAG.CHANGELOGTEXT, 0, KEPT)
  const characters = [...authors, ...texts].reduce((sum, text) => sum + text.length, 0)
  if (characters > LONGEST_TEXTS)
    throw invalid(
      `the package has a changelog whose newest ${KEPT} entries have ${characters} characters; at most ${LONGEST_TEXTS} are accepted`,
    )
  const kept = authors.map((author, index): Changelog => [author, times[index]!, texts[index]!])
  return apart(kept.reverse())
}

/**
 * Clients sort by time, and rpmbuild gives all entries of a day the same time. As in createrepo_c, equal times are made to
 * differ by a second. A time earlier than the previous one is kept.
 */
function apart(entries: readonly Changelog[]): Changelog[] {
  let before = -1
  let given = -1
  return entries.map(([author, time, text]) => {
    given = time >= before && time <= given ? given + 1 : time
    before = time
    return [author, given, text]
  })
}
