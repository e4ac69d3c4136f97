// One file of an upstream's list with its verdict. Pure; large lists are searched in a reader.
import type { CurationVerdict } from '../../domain/curation.ts'
import { unpackListing } from '../../formats/packed-listing.ts'
import { askJob } from '../../formats/readers/job.ts'
import type { ReaderPool } from '../../formats/readers/pool.ts'
import type { UpstreamFile } from '../../formats/registry-format.ts'
import { isLarge, isSmall, judged, type UpstreamState } from './upstream-listing.ts'

/** By its name here, or by its version. */
export type Sought = { filename: string } | { version: string }

export interface SearchArgument {
  state: UpstreamState
  sought: Sought
  now: Date
}

export interface Judged {
  file: UpstreamFile
  verdict: CurationVerdict
}

export function searchJudged({ state, sought, now }: SearchArgument): Judged[] {
  const isSought = (file: UpstreamFile) =>
    'filename' in sought ? file.filename === sought.filename : file.version === sought.version
  return judged(unpackListing(state.packed), state, now).filter(({ file }) => isSought(file))
}

export async function findJudged(readers: ReaderPool, argument: SearchArgument): Promise<Judged[]> {
  if (isSmall(argument.state)) return searchJudged(argument)
  const options = { subject: 'searching the list', isLarge: isLarge(argument.state), isDone: isJudged }
  return askJob(readers, 'publish-search', argument, options)
}

const isJudged = (value: unknown): value is Judged[] => Array.isArray(value)
