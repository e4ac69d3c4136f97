// Collects the answers of a scan and derives its result. Pure.
import type { Coverage } from '../../../domain/status.ts'
import type { AntivirusResult } from '../scanner.ts'
import type { Answer } from './answer.ts'

/** Most files that are listed as not scanned. Others are only counted. */
const NAMED_AT_MOST = 100

export interface Tally {
  /** Records an answer. @param member null for the package file itself */
  record(member: string | null, answer: Answer, bytes: number): void
  /** Records a member that was not sent to the engine. */
  skipMember(name: string, reason: string): void
  /** Records that the package file itself was not scanned completely. */
  skipRaw(reason: string): void
  readonly infected: boolean
  result(engine: { version: string | null; databaseDate: string | null }): AntivirusResult
}

/**
 * The worst result wins: infected, error, limited, clean.
 *
 * Only members make a package `limited`. clamd does not open ar, rpm or zstd, so the raw file adds little to its
 * decompressed members, and a large package would otherwise be held although everything it installs was scanned. A
 * skipped raw file is listed in the coverage. When no member was scanned either, the result is `limited`.
 *
 * @param filename name of the package file in messages
 */
export function createTally(filename: string): Tally {
  const skipped: Coverage['files_skipped'] = []
  let skippedMembers = 0
  let unnamed = 0
  let seen = 0
  let membersSeen = 0
  let rawSkipped = false
  let bytes = 0
  let found: { signature: string; member: string | null } | null = null
  let failed: { name: string; reason: string } | null = null

  const skip = (name: string, reason: string) => {
    if (skipped.length < NAMED_AT_MOST) skipped.push({ name, reason })
    else unnamed++
  }
  const skipMember = (name: string, reason: string) => {
    skippedMembers++
    skip(name, reason)
  }
  const skipRaw = (reason: string) => {
    rawSkipped = true
    skip(filename, reason)
  }
  const count = (amount: number, what: string) => `${amount} ${what}${amount === 1 ? '' : 's'}`

  function outcome(): Pick<AntivirusResult, 'result' | 'signature' | 'member' | 'message'> {
    if (found) {
      const message = `${found.signature} found in ${found.member ?? filename}.`
      return { result: 'infected', ...found, message }
    }
    const none = { signature: null, member: null }
    if (failed)
      return { result: 'error', ...none, message: `The antivirus engine failed on ${failed.name}: ${failed.reason}.` }
    if (skippedMembers > 0) {
      const [first] = skipped
      const message = `${count(skippedMembers, 'file')} of the package not fully scanned, first ${first?.name}: ${first?.reason}.`
      return { result: 'limited', ...none, message }
    }
    if (rawSkipped && membersSeen === 0) {
      return { result: 'limited', ...none, message: `Nothing of the package was scanned: ${skipped[0]?.reason}.` }
    }
    return { result: 'clean', ...none, message: `${count(seen, 'file')} scanned, nothing found.` }
  }

  return {
    record(member, answer, size) {
      bytes += size
      const name = member ?? filename
      if (answer.kind === 'limited') {
        if (member === null) skipRaw(answer.reason)
        else skipMember(name, answer.reason)
        return
      }
      if (answer.kind === 'failed') {
        failed ??= { name, reason: answer.reason }
        skip(name, answer.reason)
        return
      }
      seen++
      if (member !== null) membersSeen++
      if (answer.kind === 'found') found ??= { signature: answer.signature, member }
    },
    skipMember,
    skipRaw,
    get infected() {
      return found !== null
    },
    result({ version, databaseDate }) {
      const listed =
        unnamed === 0 ? skipped : [...skipped, { name: `${unnamed} more`, reason: 'not listed one by one' }]
      return {
        ...outcome(),
        coverage: {
          engine: 'ClamAV',
          engine_version: version,
          database_date: databaseDate,
          distro_matched: null,
          files_seen: seen,
          files_skipped: listed,
          bytes,
        },
      }
    },
  }
}
