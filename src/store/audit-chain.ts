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

/**
 * Checks one line of a file against the hash of the line before it.
 * @param head null where the chain is not known before this line
 */
export function verifyLine(
  line: string,
  head: string | null,
): { fault: string; hash: null } | { fault: null; hash: string } {
  let entry: AuditEntry
  try {
    entry = JSON.parse(line) as AuditEntry
  } catch {
    return { fault: 'is not JSON', hash: null }
  }
  if (head !== null && entry.prev_hash !== head) return { fault: 'does not follow the entry before it', hash: null }
  if (entry.hash === null || chainHash(entry) !== entry.hash) return { fault: 'was altered', hash: null }
  return { fault: null, hash: entry.hash }
}

/** The first thing wrong with a chain, by line; null when it holds. */
export function verifyLines(
  lines: Iterable<string>,
  head: string | null,
): { fault: { line: number; reason: string } | null; count: number } {
  let count = 0
  for (const line of lines) {
    count++
    const { fault, hash } = verifyLine(line, head)
    if (fault !== null) return { fault: { line: count, reason: fault }, count }
    head = hash
  }
  return { fault: null, count }
}
