// The table of commands, in the order of help. Everything about a command follows from its entry.
import type { Command } from './command.ts'
import { apiCommands } from './commands/api.ts'
import { auditCommands } from './commands/audit.ts'
import { backupCommands } from './commands/backup.ts'
import { distributionCommands } from './commands/distributions.ts'
import { importCommands } from './commands/imports.ts'
import { logCommands } from './commands/logs.ts'
import { packageCommands } from './commands/packages.ts'
import { reviewCommands } from './commands/review.ts'
import { securityCommands } from './commands/security.ts'
import { sessionCommands } from './commands/session.ts'
import { tokenCommands } from './commands/tokens.ts'
import { uploadCommands } from './commands/upload.ts'

/** Words that begin several commands. */
export const GROUPS: Record<string, string> = {
  review: 'Decide about packages that are held',
  import: 'Bring packages in from repositories of others',
  dist: 'The distributions',
  token: 'API tokens of people and CI',
  audit: 'The audit log: read, export, verify',
  backup: 'Backups of the whole service',
}

export const TABLE: readonly Command[] = [
  ...sessionCommands,
  ...uploadCommands,
  ...packageCommands,
  ...reviewCommands,
  ...distributionCommands,
  ...securityCommands,
  ...importCommands,
  ...tokenCommands,
  ...auditCommands,
  ...backupCommands,
  ...logCommands,
  ...apiCommands,
]
