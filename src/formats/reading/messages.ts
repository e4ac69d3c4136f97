// The messages about packages between the service and a reader. Replies are checked, because hostile bytes may have made them.
import type { Distribution } from '../../domain/package.ts'
import type { Message } from '../readers/messages.ts'
import type { ReadOptions } from '../ecosystem.ts'
import type { PackedPackage, SignatureVerdict } from '../intake-format.ts'

export type Request =
  | { kind: 'read'; format: string; path: string; options: ReadOptions }
  /** several packages one after the other: each gets its own reply, in this order */
  | { kind: 'read-each'; format: string; paths: readonly string[]; options: ReadOptions }
  | { kind: 'verify'; format: string; path: string; keys: readonly string[] }
  | { kind: 'entry'; format: string; pkg: PackedPackage; distribution: Distribution }

export type RequestOf<Kind extends Request['kind']> = Extract<Request, { kind: Kind }>

/** Packed facts and the file list as UTF-8: cheaper to copy than structure and a million strings. */
export interface FactsReply {
  kind: 'facts'
  /** JSON of the facts, with an empty file list */
  facts: Uint8Array
  /** gzip of the file list */
  files: Uint8Array
  /** the file list, one path a line */
  lines: Uint8Array
}
export interface VerdictReply {
  kind: 'verdict'
  verdict: SignatureVerdict
}
export interface EntryReply {
  kind: 'entry'
  entry: Record<string, Uint8Array>
}
const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

export const isFacts = (reply: Message): reply is FactsReply => {
  const { kind, facts, files, lines } = reply as Partial<FactsReply>
  return kind === 'facts' && isBytes(facts) && isBytes(files) && isBytes(lines)
}

const OUTCOMES: readonly string[] = ['verified', 'unknown_key', 'invalid', 'unsigned']
export const isVerdict = (reply: Message): reply is VerdictReply => {
  const { kind, verdict } = reply as Partial<VerdictReply>
  if (kind !== 'verdict' || !isObject(verdict)) return false
  const { outcome, keyId } = verdict as Partial<SignatureVerdict>
  return OUTCOMES.includes(outcome ?? '') && (keyId === undefined || keyId === null || typeof keyId === 'string')
}

export const isEntry = (reply: Message): reply is EntryReply => {
  const { kind, entry } = reply as Partial<EntryReply>
  return kind === 'entry' && isObject(entry) && Object.values(entry).every(isBytes)
}
