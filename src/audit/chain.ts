// The audit entry as it is written, and the rules that chain entries. Pure.
import { isoTime } from '../kernel/clock.ts'
import { hmacSha256Hex, sha256Hex } from '../kernel/crypto.ts'

/** One line of `audit/<day>.jsonl`; every key is always present (docs/api-decisions.md, section 5). */
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
  /** place in the chain, from 1 */
  seq: number | null
  /** proves that this service wrote the entry; null before it is chained */
  mac: string | null
}

/** The previous hash of the first entry. */
export const GENESIS = '0'.repeat(64)

/** `2026-03-01.jsonl`: nothing else in the directory holds entries. */
export const DAY_FILE = /^(\d{4}-\d\d-\d\d)\.jsonl$/

export interface EntryRow {
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
  seq: number | null
  mac: string | null
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
    seq: row.seq,
    mac: row.mac,
  }
}

/** The line of a row in its day's file. */
export function lineOf(row: EntryRow): string {
  return JSON.stringify(entryOf(row)) + '\n'
}

/** SHA-256 over the entry's JSON without `hash`, `seq` and `mac`; that JSON contains the hash of the previous entry. */
export function chainHash(entry: AuditEntry): string {
  const { hash: _hash, seq: _seq, mac: _mac, ...covered } = entry
  return sha256Hex(JSON.stringify(covered))
}

/**
 * HMAC-SHA256 over place and hash. Without the key, somebody can hash a changed chain again, but cannot compute these.
 * @param key as `openAuditKey` returns it
 */
export function entryMac(key: string, seq: number, hash: string): string {
  return hmacSha256Hex(key, `${seq} ${hash}`)
}

export type CheckedLine = { fault: string; entry: null } | { fault: null; entry: AuditEntry & { hash: string } }

/**
 * Checks the bytes of one line by themselves: JSON in the one form the service writes, and a hash that fits. Another
 * form could carry a key twice, of which a reader sees only the last.
 */
export function checkLine(bytes: Buffer): CheckedLine {
  let entry: AuditEntry | null
  try {
    entry = JSON.parse(bytes.toString('utf8')) as AuditEntry | null
  } catch {
    return { fault: 'is not JSON', entry: null }
  }
  if (!Buffer.from(JSON.stringify(entry)).equals(bytes))
    return { fault: 'is not in the form the service writes: a key occurs twice, or spacing was changed', entry: null }
  if (typeof entry !== 'object' || entry === null || typeof entry.hash !== 'string')
    return { fault: 'is not an audit entry', entry: null }
  if (chainHash(entry) !== entry.hash) return { fault: 'was altered: its hash does not fit', entry: null }
  return { fault: null, entry: { ...entry, hash: entry.hash } }
}
