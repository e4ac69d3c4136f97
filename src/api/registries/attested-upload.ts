// What comes with an upload as proof of where it was built: verified by the gate, and kept where it holds.
import type { KeptAttestation } from '../../domain/provenance.ts'
import type { ProvenanceFound } from '../../gate/provenance/messages.ts'
import { keptOf, provenanceSeen, type Provenance } from '../../gate/provenance/provenance.ts'
import type { Step } from '../../gate/step.ts'

export interface AttestedUpload {
  /** none for an upload without proof; asked once its form was read */
  steps(): Step[]
  /** what was verified, once the step ran */
  kept(): KeptAttestation[]
}

/** @param documentOf what came, as the upstreams of its format list it, in JSON; null when nothing came */
export function attestedUpload(provenance: Provenance, documentOf: () => string | null): AttestedUpload {
  let found: ProvenanceFound | null = null
  const step: Step = {
    key: 'attestations',
    label: 'Attestations',
    async run({ format, facts: { name, version }, digests, filename }) {
      const subject = { format: format.id, file: { name, version, filename, digests }, document: documentOf() }
      found = await provenance.verify({ ...subject, publishedAt: null, signatures: [], keys: null })
      return { seen: provenanceSeen(found, false) }
    },
  }
  return {
    steps: () => (documentOf() === null ? [] : [step]),
    kept: () => (found ? keptOf(found) : []),
  }
}
