// What is recorded about work that failed, where no client waits for the answer.
import { isProblem, type ProblemCode } from '../domain/problem.ts'
import { fullDisk, isStorageFull } from './files.ts'

export interface Failure {
  code: ProblemCode
  /** contains nothing from an unexpected error, whose message may contain anything */
  detail: string
  /** the error is not a Problem: the caller logs it */
  isUnexpected: boolean
}

/** The code and sentence of a Problem; `storage_full` when the system reports it; otherwise `internal_error`. */
export function failureOf(error: unknown): Failure {
  if (isProblem(error)) return { code: error.code, detail: error.detail, isUnexpected: false }
  if (isStorageFull(error)) return { code: 'storage_full', detail: `${fullDisk(error)} is full`, isUnexpected: true }
  return { code: 'internal_error', detail: 'an unexpected error; the log has it', isUnexpected: true }
}
