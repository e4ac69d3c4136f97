// The refusals of this room, as Problems that are safe to show.
import { Problem } from '../domain/problem.ts'
import { refused } from '../formats/catalog.ts'
import { isStorageFull } from '../kernel/files.ts'
import { HttpError } from '../kernel/http-error.ts'

/** For content without the listed size or digest. */
export function mismatch(sentence: string): Problem {
  return new Problem('checksum_mismatch', sentence)
}

/** Failures of the transport as Problems; any other error as it is. */
export function problemOf(error: unknown): unknown {
  if (isStorageFull(error)) return new Problem('storage_full', 'the disk is full', {}, { cause: error })
  if (!(error instanceof HttpError)) return error
  if (error.reason === 'forbidden_target') return new Problem('forbidden_target', error.message, {}, { cause: error })
  return refused(error.reason, error.message, error)
}
