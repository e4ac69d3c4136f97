// The antivirus engine of an installation that has none: unavailable, and passes nothing.
import { Problem } from '../../../domain/problem.ts'
import { silentStatus, type Antivirus } from '../scanner.ts'

export function noAntivirus(): Antivirus {
  return {
    status: async () => silentStatus(null, 'no antivirus engine is configured'),
    async scan() {
      throw new Problem('scanner_unavailable', 'no antivirus engine is configured')
    },
  }
}
