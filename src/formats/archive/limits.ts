// Limits against hostile archives, and the error of this folder.
import { Problem } from '../../domain/problem.ts'

export interface Limits {
  /** most output bytes of one decompression */
  maxOutputBytes: number
  /** stops the work with the signal's reason */
  signal?: AbortSignal
}

const MIB = 1024 ** 2
export const DEFAULT_LIMITS: Limits = { maxOutputBytes: 4096 * MIB }

/**
 * The most bytes that so many input bytes may unpack to. The densest honest packages (locale and icon data) stay below 40:1;
 * one byte repeated reaches 1,000:1 with gzip and 7,000:1 with xz. 64 MiB are always allowed, 300:1 up to 512 MiB, and
 * 50:1 beyond: at 300:1 a deb of 40 MB that unpacked to 8 GB took 80 s.
 */
export function plausibleOutput(inputBytes: number): number {
  return Math.max(64 * MIB, Math.min(300 * inputBytes, Math.max(512 * MIB, 50 * inputBytes)))
}

/** @param sentence what is wrong with the file: lower case, no full stop */
export function invalid(sentence: string, cause?: unknown): Problem {
  return new Problem('invalid_package', sentence, {}, { cause })
}

/** The refusal of a package that unpacks to more than `mostBytes`. */
export function tooLarge(mostBytes: number): Problem {
  return invalid(
    `the package unpacks to more than ${mostBytes.toLocaleString('en-US')} bytes, which is the most accepted`,
  )
}
