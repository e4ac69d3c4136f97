// An error of the API, in the form that is thrown to pages.
import type { Problem } from '../../../client/src/index.ts'

export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail)
  }
}

export interface ShownProblem {
  code: string
  detail: string
  errors: { field: string; message: string }[]
  requestId: string | null
  /** seconds until another try; 0 when none is needed */
  retryAfter: number
}

/** What a person sees of any error. */
export function problemOf(error: unknown): ShownProblem {
  if (!(error instanceof ApiError))
    return {
      code: 'page_error',
      detail: error instanceof Error ? error.message : String(error),
      errors: [],
      requestId: null,
      retryAfter: 0,
    }
  const { code, detail, body, requestId, retryAfterMs } = error.problem
  const errors = Array.isArray(body['errors']) ? (body['errors'] as ShownProblem['errors']) : []
  return { code, detail, errors, requestId, retryAfter: Math.ceil((retryAfterMs ?? 0) / 1000) }
}
