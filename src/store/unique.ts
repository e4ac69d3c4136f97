// Rows that a unique index refuses: another request took the name at the same moment, or before.
import { Problem } from '../domain/problem.ts'

/** https://www.postgresql.org/docs/15/errcodes-appendix.html */
const UNIQUE_VIOLATION = '23505'

export const isTaken = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === UNIQUE_VIOLATION

/**
 * @param sentence who has it
 * @throws Problem('already_exists') with the sentence when a unique index refuses the row
 */
export async function unlessTaken<T>(write: Promise<T>, sentence: string): Promise<T> {
  try {
    return await write
  } catch (error) {
    if (!isTaken(error)) throw error
    throw new Problem('already_exists', sentence, {}, { cause: error })
  }
}
