// What stands in for a malware engine where none is configured: it says so, and never passes anything.
import { Problem } from '../../domain/problem.ts'
import type { Antivirus } from '../scanner.ts'

export function noAntivirus(): Antivirus {
  return {
    async status() {
      return {
        available: false,
        engine: null,
        version: null,
        db_version: null,
        db_date: null,
        db_updated_at: null,
        db_files: [],
        daemon_running: false,
        cooldown_until: null,
        error: 'No antivirus engine is configured.',
      }
    },
    async scan() {
      throw new Problem('scanner_unavailable', 'No antivirus engine is configured.')
    },
  }
}
