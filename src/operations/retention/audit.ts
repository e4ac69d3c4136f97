// Retention of the audit log: removes days that are too old.
import { DAY_MS } from '../../domain/durations.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AuditRemoval } from '../../audit/removal.ts'
import type { RetentionStep } from './step.ts'

export function auditStep(deps: {
  clock: Clock
  removal: AuditRemoval
  settings(): Pick<Settings, 'retention'>
}): RetentionStep {
  const firstDay = () =>
    new Date(deps.clock.now().getTime() - deps.settings().retention.audit_days * DAY_MS).toISOString().slice(0, 10)
  return {
    name: 'audit',
    plan: () => deps.removal.count(firstDay()),
    async run({ line, signal }) {
      const { entries, files, refused } = await deps.removal.removeBefore(firstDay(), signal)
      line(refused ?? `${entries} entries and ${files} files are removed`)
      return { entries, files, refused }
    },
  }
}
