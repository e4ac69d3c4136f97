// What stands in for a malware engine where none is configured: it says so, and never passes anything.
import { Problem } from '../../domain/problem.ts'
import { silentStatus, type Antivirus } from '../scanner.ts'

export function noAntivirus(): Antivirus {
  return {
    status: async () => silentStatus(null, 'No antivirus engine is configured.'),
    async scan() {
      throw new Problem('scanner_unavailable', 'No antivirus engine is configured.')
    },
  }
}
