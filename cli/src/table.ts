// The table of commands, in the order of help. Everything about a command is in its entry.
import type { Command } from './command.ts'
import { aboutCommands } from './commands/about.ts'
import { apiCommands } from './commands/api.ts'
import { auditCommands } from './commands/audit.ts'
import { backupCommands } from './commands/backup.ts'
import { ciCommands } from './commands/ci-login.ts'
import { decisionCommands } from './commands/decisions.ts'
import { distributionCommands } from './commands/distributions.ts'
import { doctorCommands } from './commands/doctor.ts'
import { downloadCommands } from './commands/download.ts'
import { importCommands } from './commands/imports.ts'
import { logCommands } from './commands/logs.ts'
import { machineCommands } from './commands/machines.ts'
import { mirrorCommands } from './commands/mirrors.ts'
import { packageCommands } from './commands/packages.ts'
import { proxyCommands } from './commands/proxies.ts'
import { quarantineCommands } from './commands/quarantine.ts'
import { repositoryCommands } from './commands/repositories.ts'
import { readerCommands } from './commands/readers.ts'
import { reservationCommands } from './commands/reservations.ts'
import { reviewCommands } from './commands/review.ts'
import { reviewBulkCommands } from './commands/review-bulk.ts'
import { securityCommands } from './commands/security.ts'
import { sessionCommands } from './commands/session.ts'
import { settingCommands } from './commands/settings.ts'
import { sourceCommands } from './commands/sources.ts'
import { taskCommands } from './commands/tasks.ts'
import { tokenCommands } from './commands/tokens.ts'
import { uploadCommands } from './commands/upload.ts'
import { userCommands } from './commands/users.ts'

export const TABLE: readonly Command[] = [
  ...sessionCommands,
  ...ciCommands,
  ...doctorCommands,
  ...uploadCommands,
  ...packageCommands,
  ...downloadCommands,
  ...quarantineCommands,
  ...reviewCommands,
  ...reviewBulkCommands,
  ...decisionCommands,
  ...distributionCommands,
  ...repositoryCommands,
  ...proxyCommands,
  ...readerCommands,
  ...machineCommands,
  ...securityCommands,
  ...importCommands,
  ...sourceCommands,
  ...mirrorCommands,
  ...reservationCommands,
  ...userCommands,
  ...tokenCommands,
  ...settingCommands,
  ...taskCommands,
  ...auditCommands,
  ...backupCommands,
  ...logCommands,
  ...apiCommands,
  ...aboutCommands(() => TABLE),
]
