// Why the service cannot start, where the operator can fix it: reported in one sentence, without a stack trace.

export class StartError extends Error {
  override readonly name = 'StartError'
}

/**
 * System errors (EADDRINUSE, EACCES) and PostgreSQL's errors for a wrong address, password or database name:
 * https://www.postgresql.org/docs/15/errcodes-appendix.html
 */
const EXPECTED_CODE = /^(E[A-Z0-9]+|(08|28|3D|57)[A-Z0-9]{3})$/

/**
 * The text that `main.ts` prints for an error that stopped the start: the sentence of an expected error (a fault of the
 * environment or of a file, a port or directory that the system refuses), the stack trace of any other.
 */
export function startFailure(error: unknown): string {
  if (!(error instanceof Error)) return `cannot start: ${String(error)}`
  const isExpected = error instanceof StartError || EXPECTED_CODE.test(String((error as NodeJS.ErrnoException).code))
  return `cannot start: ${isExpected ? error.message : (error.stack ?? error.message)}`
}
