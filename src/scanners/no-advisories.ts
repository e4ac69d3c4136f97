// The vulnerability engine of a deployment that has no advisory data: it says so, which is not the same as "no findings".
import type { CveScanner } from './scanner.ts'

export function noAdvisories(): CveScanner {
  return {
    name: 'none',
    async scan({ distribution }) {
      return {
        word: 'no_data',
        findings: [],
        message: `no advisory data for ${distribution.scannerDistro}`,
        coverage: {
          engine: null,
          engine_version: null,
          database_date: null,
          distro_matched: null,
          files_seen: 0,
          files_skipped: [],
          bytes: 0,
        },
      }
    },
  }
}
