// Verifies attestations of files, in a reader, and says what they mean for the package.
import {
  isProvenance,
  provenanceSentence,
  publisherOf,
  type Attestation,
  type KeptAttestation,
} from '../../domain/provenance.ts'
import { isProblem } from '../../domain/problem.ts'
import { askJob } from '../../formats/readers/job.ts'
import type { ReaderPool } from '../../formats/readers/pool.ts'
import type { StepResult } from '../step.ts'
import { isProvenanceFound, MOST_DOCUMENT_BYTES, type ProvenanceArgument, type ProvenanceFound } from './messages.ts'

export interface Provenance {
  /** What does not verify is a fault, and so is what cannot be read within the limits. */
  verify(argument: Omit<ProvenanceArgument, 'root'>): Promise<ProvenanceFound>
}

/** An attestation takes 10 ms. */
const VERIFY_MS = 10_000

/** @param root trusted root of Sigstore, in JSON */
export function createProvenance({ readers, root }: { readers: ReaderPool; root: string }): Provenance {
  return {
    async verify(argument) {
      const { document } = argument
      if (document !== null && Buffer.byteLength(document) > MOST_DOCUMENT_BYTES)
        return faulty(`its attestations have more than ${MOST_DOCUMENT_BYTES} bytes`)
      const options = { subject: 'verifying the attestations', replyMs: VERIFY_MS, isDone: isProvenanceFound }
      try {
        return await askJob(readers, 'gate-provenance', { ...argument, root } satisfies ProvenanceArgument, options)
      } catch (error) {
        if (!isProblem(error, 'invalid_package')) throw error
        return faulty(error.detail)
      }
    },
  }
}

const faulty = (fault: string): ProvenanceFound => ({ verified: [], signedBy: null, faults: [fault], doubts: [] })

export const attestationsOf = ({ verified }: Pick<ProvenanceFound, 'verified'>): Attestation[] =>
  verified.map(({ attestation }) => attestation)

/** What contradicts the file holds it, whatever the rules say. @param isRequired whether a file without verified provenance is held */
export function provenanceSeen(found: ProvenanceFound, isRequired: boolean): StepResult['seen'] {
  const { faults, doubts, signedBy } = found
  const attestations = attestationsOf(found)
  const detail = { attestations, signed_by: signedBy }
  const isLacking = isRequired && !attestations.some(isProvenance)
  const reasons = [...faults, ...(isLacking ? [...doubts, 'none of its provenance is verified'] : [])]
  if (reasons.length > 0) return { result: 'withheld', message: reasons.join('; '), detail }
  const good = [
    ...(attestations.length > 0 ? [provenanceSentence(attestations)] : []),
    ...(signedBy === null ? [] : [`signed by its registry with the key ${signedBy}`]),
  ]
  const message = [...doubts, ...good].join('; ') || 'nothing is attested'
  return {
    result: attestations.length > 0 || signedBy !== null ? 'signed' : 'allowed',
    message,
    detail,
    concern: doubts.length > 0,
  }
}

/** Verified ones, as clients get them. */
export const keptOf = ({ verified }: ProvenanceFound): KeptAttestation[] =>
  verified.map(({ attestation, kept }) => ({
    attestation: JSON.parse(kept) as unknown,
    publisher: publisherOf(attestation),
  }))
