// The members of a package that an antivirus engine gets, unpacked in a reader.
import { resolve } from 'node:path'
import type { ReadOptions } from '../../formats/ecosystem.ts'
import { isMemberBatch } from '../../formats/reading/member-batches.ts'
import { readMembers } from '../../formats/reading/member-stream.ts'
import { isNothing, runJob } from '../../formats/readers/job.ts'
import type { ReaderPool } from '../../formats/readers/pool.ts'
import { createSpoolFiles } from '../../formats/readers/spool-files.ts'
import { NESTED_LIMITS, type ExpandLimits } from '../engines/nested/limits.ts'
import type { ScanMember } from '../engines/scanner.ts'
import type { ContentsArgument } from './job.ts'

/**
 * Every member of a package, each followed by the files inside it that the engine would not see.
 * @param skip is called for each file that was not examined, or not completely
 * @throws Problem('invalid_package')
 */
export type Contents = (
  format: string,
  path: string,
  limits: ExpandLimits,
  skip: (name: string, reason: string) => void,
) => AsyncIterable<ScanMember>

/**
 * @param newPath names a file below the staging directory
 * @param options asked for each package
 */
export function createContents(pool: ReaderPool, newPath: () => string, options: () => ReadOptions): Contents {
  return (format, path, limits, skip) => {
    // A reader has another working directory.
    const argument: ContentsArgument = { format, path: resolve(path), options: options(), limits }
    const files = createSpoolFiles(newPath, limits.maxStreamBytes + (limits.bounds?.bytes ?? NESTED_LIMITS.bytes))
    const how = { files, isSent: isMemberBatch, isDone: isNothing }
    return readMembers(runJob(pool, 'gate-contents', argument, how), files, skip)
  }
}
