// All migrations in order, one line each. Never edit one that was released.
import type { Migration } from 'kysely'
import * as foundation from './0001-foundation.ts'
import * as review from './0002-review.ts'
import * as advisories from './0003-advisories.ts'
import * as jobs from './0004-jobs.ts'
import * as scores from './0005-scores.ts'
import * as components from './0006-components.ts'
import * as crossChecks from './0007-cross-checks.ts'
import * as listing from './0008-listing.ts'
import * as notifications from './0009-notifications.ts'
import * as publishing from './0010-publishing.ts'
import * as auditMac from './0011-audit-mac.ts'
import * as knownVulnerable from './0012-known-vulnerable.ts'
import * as declaredDistributions from './0013-declared-distributions.ts'
import * as servedFilenames from './0014-served-filenames.ts'
import * as architectures from './0015-architectures.ts'
import * as tasks from './0016-tasks.ts'

export const MIGRATIONS: Record<string, Migration> = {
  '0001-foundation': foundation,
  '0002-review': review,
  '0003-advisories': advisories,
  '0004-jobs': jobs,
  '0005-scores': scores,
  '0006-components': components,
  '0007-cross-checks': crossChecks,
  '0008-listing': listing,
  '0009-notifications': notifications,
  '0010-publishing': publishing,
  '0011-audit-mac': auditMac,
  '0012-known-vulnerable': knownVulnerable,
  '0013-declared-distributions': declaredDistributions,
  '0014-served-filenames': servedFilenames,
  '0015-architectures': architectures,
  '0016-tasks': tasks,
}
