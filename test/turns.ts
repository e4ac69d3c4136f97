// Reads the turns that turns.mjs records in a measured service.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE_ENV } from '../bin/service-env.mjs'

/** A turn of the event loop that took longer than 15 ms. */
export interface Turn {
  /** when it ended, ms since 1970 */
  at: number
  /** processor time of the main thread */
  cpuMs: number
  /** time in which it neither computed nor waited for a processor */
  blockedMs: number
}

/** @returns the environment of a service that records its long turns in the file */
export const notingTurns = (file: string): Record<string, string> => ({
  NODE_OPTIONS: `${SERVICE_ENV.NODE_OPTIONS} --import=${join(import.meta.dirname, 'turns.mjs')}`,
  TURNS_FILE: file,
})

/** @param from ms since 1970 */
export function turnsIn(file: string, from: number): Turn[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines
    .map((line) => line.split(' ').map(Number))
    .map(([at, cpuMs, blockedMs]) => ({ at: at!, cpuMs: cpuMs!, blockedMs: blockedMs! }))
    .filter(({ at }) => at >= from)
}

/** @returns the longest of each kind; 0 when all turns are shorter than the recorded ones */
export const longest = (turns: readonly Turn[]): Omit<Turn, 'at'> => ({
  cpuMs: Math.max(0, ...turns.map(({ cpuMs }) => cpuMs)),
  blockedMs: Math.max(0, ...turns.map(({ blockedMs }) => blockedMs)),
})
