// Structured logs on standard output, one JSON line each, with secrets redacted.
import { pino, type Logger } from 'pino'

export type Log = Logger

/** Field names whose values are redacted, down to the third level of nesting. */
const SECRET_FIELDS = [
  'authorization',
  'password',
  'new_password',
  'current_password',
  'admin_password',
  'password_hash',
  'token',
  'access_token',
  'mfa_token',
  'totp_code',
  'secret',
  'client_secret',
  'bind_password',
  'smtp_password',
  'cookie',
  '["x-setup-token"]',
  '["x-hub-signature-256"]',
]

const at = (prefix: string) => (field: string) =>
  field.startsWith('[') ? `${prefix}${field}` : `${prefix ? `${prefix}.` : ''}${field}`

/** @param destination standard output by default */
export function createLog(level: string, destination?: { write(line: string): void }): Log {
  return pino(
    {
      level,
      base: undefined,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ['', '*', '*.*'].flatMap((prefix) => SECRET_FIELDS.map(at(prefix))), censor: '***' },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  )
}
