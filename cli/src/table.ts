// The table of commands, in the order of help. Everything about a command is in its entry.
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
  ...apiCommands(() => TABLE),
]
