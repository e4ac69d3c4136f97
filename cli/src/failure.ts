// Failures of commands.
import type { Problem, Result } from 'gatehouse-client'
import { EXITS, exitOf, type Exit } from './exits.ts'

export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exit: Exit
  readonly detail: string
  /** in the form of the API's errors, for `--json` */
  readonly body: Record<string, unknown>
  constructor(exit: Exit, detail: string, body: Record<string, unknown>) {
    super(detail)
    this.exit = exit
    this.detail = detail
    this.body = body
  }
}

/** The command was used wrongly: exit 2. */
export function usage(detail: string): Failure {
  return new Failure(EXITS.usage, detail, { code: 'usage', detail })
}

export function signedOut(detail: string): Failure {
  return new Failure(EXITS.signedOut, detail, { code: 'not_signed_in', detail })
}

export function notFound(detail: string): Failure {
  return new Failure(EXITS.notFound, detail, { code: 'not_found', detail })
}

export function failed(detail: string): Failure {
  return new Failure(EXITS.failed, detail, { code: 'failed', detail })
}

export function failureOf(problem: Problem): Failure {
  return new Failure(exitOf(problem), sentence(problem), problem.body)
}

/** A problem as text for people. */
export function sentence(problem: Problem): string {
  const { detail, code, requestId, status } = problem
  const hint = status === 401 ? '; sign in with `gatehouse login`, or set GATEHOUSE_TOKEN' : ''
  const request = status !== null && status >= 500 && requestId ? ` (request ${requestId})` : ''
  return `${detail}${hint} [${code}]${request}`
}

/** The data of a result. @throws Failure */
export function need<T>(result: Result<T>): T {
  if (!result.ok) throw failureOf(result.error)
  return result.data
}
