// All migrations in order, one line each. Never edit one that was released: none was so far.
import type { Migration } from 'kysely'
import { accounts } from './0001-accounts.ts'
import { packages } from './0002-packages.ts'
import { publishing } from './0003-publishing.ts'
import { audit } from './0004-audit.ts'
import { advisories } from './0005-advisories.ts'
import { scans } from './0006-scans.ts'
import { operation } from './0007-operation.ts'
import { tasks } from './0008-tasks.ts'
import { imports } from './0009-imports.ts'
import { signIn } from './0010-sign-in.ts'
import { dashboard } from './0011-dashboard.ts'
import { importMemory } from './0012-import-memory.ts'
import { downloads } from './0013-downloads.ts'
import { console } from './0014-console.ts'
import { poolGrowth } from './0015-pool-growth.ts'
import { entryPieces } from './0016-entry-pieces.ts'
import { signAgain } from './0017-sign-again.ts'
import { leftOut } from './0018-left-out.ts'
import { tokenParents } from './0019-token-parents.ts'
import { findingNames } from './0020-finding-names.ts'
import { directoryState } from './0021-directory-state.ts'
import { auditBegan } from './0026-audit-began.ts'
import { offerEntries } from './0027-offer-entries.ts'
import { evidence } from './0028-evidence.ts'
import { deviceSignIns } from './0029-device-sign-ins.ts'
import { undo } from './0030-undo.ts'
import { review } from './0031-review.ts'
import { consoleJobs } from './0032-console-jobs.ts'
import { keptAnswers } from './0033-kept-answers.ts'
import { clientSignIn } from './0034-client-sign-in.ts'
import { repositories } from './0035-repositories.ts'
import { proxies } from './0036-proxies.ts'
import { jobsRead } from './0039-jobs-read.ts'

export const MIGRATIONS: Record<string, Migration> = {
  '0001-accounts': accounts,
  '0002-packages': packages,
  '0003-publishing': publishing,
  '0004-audit': audit,
  '0005-advisories': advisories,
  '0006-scans': scans,
  '0007-operation': operation,
  '0008-tasks': tasks,
  '0009-imports': imports,
  '0010-sign-in': signIn,
  '0011-dashboard': dashboard,
  '0012-import-memory': importMemory,
  '0013-downloads': downloads,
  '0014-console': console,
  '0015-pool-growth': poolGrowth,
  '0016-entry-pieces': entryPieces,
  '0017-sign-again': signAgain,
  '0018-left-out': leftOut,
  '0019-token-parents': tokenParents,
  '0020-finding-names': findingNames,
  '0021-directory-state': directoryState,
  '0026-audit-began': auditBegan,
  '0027-offer-entries': offerEntries,
  '0028-evidence': evidence,
  '0029-device-sign-ins': deviceSignIns,
  '0030-undo': undo,
  '0031-review': review,
  '0032-console-jobs': consoleJobs,
  '0033-kept-answers': keptAnswers,
  '0034-client-sign-in': clientSignIn,
  '0035-repositories': repositories,
  '0036-proxies': proxies,
  '0039-jobs-read': jobsRead,
}
