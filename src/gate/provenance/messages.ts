// What is asked of a reader about the attestations of a file, and its answer.
import type { Attestation, RegistryKey, RegistrySignature } from '../../domain/provenance.ts'
import type { FormatId } from '../../domain/package.ts'
import type { AttestedFile } from '../../formats/registry-format.ts'

export interface ProvenanceArgument {
  format: FormatId
  file: AttestedFile
  /** ms since 1970, as its registry says; null when it does not */
  publishedAt: number | null
  /** its attestations as they came, in JSON; null when it has none */
  document: string | null
  signatures: readonly RegistrySignature[]
  /** null when those of the registry cannot be had: what only they could prove is not judged */
  keys: readonly RegistryKey[] | null
  /** trusted root of Sigstore, in JSON */
  root: string
}

export interface ProvenanceFound {
  /** those that hold, with the JSON of each as clients get it */
  verified: { attestation: Attestation; kept: string }[]
  /** key of the registry whose signature holds */
  signedBy: string | null
  /** why it is not what it says, in words for reviewers */
  faults: string[]
  /** what could not be judged */
  doubts: string[]
}

/** Larger documents are not read. One attestation has about 10 KB. */
export const MOST_DOCUMENT_BYTES = 1024 * 1024
export const MOST_ATTESTATIONS = 16

const isText = (value: unknown): value is string => typeof value === 'string'
const isTextOrNull = (value: unknown): boolean => value === null || isText(value)
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText)
const fields = (value: unknown) => (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>

/** Hostile bytes may have taken the reader over. */
export function isProvenanceFound(value: unknown): value is ProvenanceFound {
  const { verified, signedBy, faults, doubts } = fields(value)
  return (
    isTextOrNull(signedBy) &&
    isTexts(faults) &&
    isTexts(doubts) &&
    Array.isArray(verified) &&
    verified.every(isVerified)
  )
}

function isVerified(value: unknown): boolean {
  const { attestation, kept } = fields(value)
  const { predicate, log_index: index, ...texts } = fields(attestation)
  const isIndex = index === null || Number.isSafeInteger(index)
  return (
    isText(kept) &&
    kept.length <= MOST_DOCUMENT_BYTES &&
    isText(predicate) &&
    isIndex &&
    Object.values(texts).every(isTextOrNull)
  )
}
