// The audit chain.
import type { Generated } from 'kysely'
import type { Json } from './columns.ts'

export interface AuditTable {
  id: Generated<number>
  at: Date
  action: string
  result: 'SUCCESS' | 'FAILURE' | 'WARNING'
  username: string | null
  package: string | null
  version: string | null
  distribution: string | null
  arch: string | null
  detail: string | null
  outcome: string | null
  ip: string | null
  request_id: string | null
  extra: Json<Record<string, unknown>>
  /** position in the hash chain, assigned when it is chained */
  seq: number | null
  prev_hash: string | null
  hash: string | null
  /** proves who wrote it; null for entries older than the key */
  mac: string | null
  /** UTC day of its file: never earlier than the day of the previous entry in the chain */
  day: string | null
  /** written to the day's file */
  filed: Generated<boolean>
}

/** One row: the head of the audit chain. A process may append while it holds the row's lock. */
export interface AuditChainTable {
  id: number
  seq: number
  hash: string
  day: string
  /** no longer used: number of entries without mac at the beginning of the chain */
  unkeyed: Generated<number>
  /** SHA-256 of the last line in the checkpoint files */
  checkpoint: Generated<string | null>
  /** the last entry that retention removed, or is about to remove; 0 for none */
  removed_seq: Generated<number>
  /** day of that entry: entries of later days are kept */
  removed_day: Generated<string | null>
  /** the last entry of an earlier database, without a row here; null when an older build began the chain */
  began_seq: Generated<number | null>
}

/** One row: the last entry of the chain that was delivered. */
export interface NotifyCursorTable {
  id: number
  seq: number
  tries: Generated<number>
  retry_at: Date | null
}
