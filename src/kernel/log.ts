// Structured logs, one JSON line each, with secrets redacted.
import { pino, type Logger } from 'pino'
import type { LineFile } from './line-file.ts'

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

/** Secrets in texts of errors and addresses: sessions, API tokens, passwords in URLs. All are bounded, so they are linear. */
const SECRET_TEXTS: readonly [marker: string, pattern: RegExp, replacement: string][] = [
  ['eyJ', /\beyJ[\w-]{10,2000}\.[\w-]{10,4000}\.[\w-]{10,1000}/g, '***'],
  ['svc_', /\bsvc_[\w-]{43}/g, 'svc_***'],
  ['://', /(:\/\/[^\s"/@:\\]{0,100}:)[^\s"/@\\]{1,500}@/g, '$1***@'],
]

/** Removes secrets from the texts of a line, which the redaction by field name does not find. */
export function withoutSecrets(line: string): string {
  let clean = line
  for (const [marker, pattern, replacement] of SECRET_TEXTS)
    if (clean.includes(marker)) clean = clean.replace(pattern, replacement)
  return clean
}

/**
 * @param destination standard output by default
 * @param name of the process, in every line
 */
export function createLog(level: string, destination?: { write(line: string): void }, name?: string): Log {
  const output = destination ?? pino.destination({ dest: 1, sync: true })
  return pino(
    {
      level,
      base: name === undefined ? undefined : { name },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ['', '*', '*.*'].flatMap((prefix) => SECRET_FIELDS.map(at(prefix))), censor: '***' },
    },
    {
      write(line: string) {
        output.write(withoutSecrets(line))
      },
    },
  )
}

/** The log of a process: on standard output, and in a file that `GET /logs` reads. */
export function createProcessLog(level: string, name: string, file: Pick<LineFile, 'append'> | null): Log {
  const output = pino.destination({ dest: 1, sync: true })
  const write = (line: string) => {
    output.write(line)
    file?.append(line)
  }
  return createLog(level, { write }, name)
}
