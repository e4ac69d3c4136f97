// The audit entry as it is written, and the rule that chains entries. Knows neither database nor files.
import { isoTime } from '../kernel/clock.ts'
import { sha256Hex } from '../kernel/crypto.ts'

/** One line of `audit/<day>.jsonl`; every key always present (decisions, section 5). */
export interface AuditEntry {
  timestamp: string
  action: string
  result: 'SUCCESS' | 'FAILURE' | 'WARNING'
  user: string | null
  package: string | null
  version: string | null
  distribution: string | null
  arch: string | null
  detail: string | null
  outcome: string | null
  ip: string | null
  request_id: string | null
  extra: Record<string, unknown>
  prev_hash: string | null
  hash: string | null
}

/** What the chain begins with. */
export const GENESIS = '0'.repeat(64)

interface EntryRow {
  at: Date
  action: string
  result: AuditEntry['result']
  username: string | null
  package: string | null
  version: string | null
  distribution: string | null
  arch: string | null
  detail: string | null
  outcome: string | null
  ip: string | null
  request_id: string | null
  extra: Record<string, unknown>
  prev_hash: string | null
  hash: string | null
}

export function entryOf(row: EntryRow): AuditEntry {
  return {
    timestamp: isoTime(row.at),
    action: row.action,
    result: row.result,
    user: row.username,
    package: row.package,
    version: row.version,
    distribution: row.distribution,
    arch: row.arch,
    detail: row.detail,
    outcome: row.outcome,
    ip: row.ip,
    request_id: row.request_id,
    extra: row.extra,
    prev_hash: row.prev_hash,
    hash: row.hash,
  }
}

/** SHA-256 over the entry's JSON without its own hash; the hash of the entry before it is part of that JSON. */
export function chainHash(entry: AuditEntry): string {
  const { hash: _own, ...covered } = entry
  return sha256Hex(JSON.stringify(covered))
}

/** The first thing wrong with a chain, by line; null when it holds. `head` is the hash the next entry must name. */
export function verifyLines(
  lines: Iterable<string>,
  head: string | null,
): { fault: { line: number; reason: string } | null; head: string | null; count: number } {
  let count = 0
  for (const line of lines) {
    count++
    let entry: AuditEntry
    try {
      entry = JSON.parse(line) as AuditEntry
    } catch {
      return { fault: { line: count, reason: 'not JSON' }, head, count }
    }
    if (head !== null && entry.prev_hash !== head) return { fault: { line: count, reason: 'does not follow the entry before it' }, head, count }
    if (chainHash(entry) !== entry.hash) return { fault: { line: count, reason: 'was altered' }, head, count }
    head = entry.hash
  }
  return { fault: null, head, count }
}
