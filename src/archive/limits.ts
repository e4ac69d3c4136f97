// How much a hostile archive may cost, and the one error of this folder; knows no format.
import { Problem } from '../domain/problem.ts'

export interface Limits {
  /** bytes that may come out of one decompression */
  maxOutputBytes: number
  /** output bytes per input byte that are believed, once `ratioFreeBytes` have come out */
  maxRatio: number
  ratioFreeBytes: number
  /** stops the work with the signal's reason */
  signal?: AbortSignal
}

// The densest honest packages (locale and icon data) stay below 40:1; one byte repeated reaches 1,000:1 with gzip and
// 7,000:1 with xz. What is below `ratioFreeBytes` costs too little to matter.
export const DEFAULT_LIMITS: Limits = {
  maxOutputBytes: 8 * 1024 ** 3,
  maxRatio: 300,
  ratioFreeBytes: 64 * 1024 ** 2,
}

/** @param sentence what is wrong with the file: lower case, no full stop */
export function invalid(sentence: string, cause?: unknown): Problem {
  return new Problem('invalid_package', sentence, {}, { cause })
}
