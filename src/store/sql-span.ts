// A statement as a span: its verb, its table, and its text, with `$1` instead of every value.
import type { LogEvent } from 'kysely'
import { recordSpan } from '../kernel/trace.ts'

const LONGEST_TEXT = 1_000

/** For the option `log` of Kysely, which is called after each statement. */
export function traceStatement({ level, query, queryDurationMillis, ...rest }: LogEvent): void {
  const { verb, table } = statementOf(query.sql)
  const span = {
    name: table === null ? verb : `${verb} ${table}`,
    kind: 'client' as const,
    isPart: true,
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': verb,
      'db.collection.name': table ?? undefined,
      'db.query.text': query.sql.slice(0, LONGEST_TEXT),
    },
    ...(level === 'error' ? { failure: stateOf('error' in rest ? rest.error : null) } : {}),
  }
  recordSpan(span, queryDurationMillis)
}

const VERBS = /^\s*(select|insert|update|delete|with|begin|start|commit|rollback|savepoint|release|lock|set)\b/i
const TABLE = /\b(?:from|into|update(?! set\b)|table)\s+"?([a-z_][a-z0-9_]{0,62})"?(?![\w".(])/i

/** Verbs are from a small set: any other statement is an `other`. */
export function statementOf(text: string): { verb: string; table: string | null } {
  const verb = VERBS.exec(text)?.[1]?.toUpperCase() ?? 'OTHER'
  return { verb, table: TABLE.exec(text.slice(0, 20_000))?.[1]?.toLowerCase() ?? null }
}

/** Only the SQLSTATE, because messages quote values. */
function stateOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^\w{5}$/.test(code) ? code : 'error'
}
