// Attestations that come with a file (PEP 740): their form is checked when they arrive, and the gate verifies what they say.
import Type from 'typebox'
import { Check } from 'typebox/value'
import { invalidField } from '../../domain/problem.ts'
import type { ProvenanceFound } from '../../gate/provenance/messages.ts'
import { keptOf, provenanceSeen, type Provenance } from '../../gate/provenance/provenance.ts'
import type { Step } from '../../gate/step.ts'

/** One has about 10 KB: a certificate, an entry of a log, a signature. */
const MOST_CHARACTERS = 256 * 1024
const MOST = 8

const Attestations = Type.Array(
  Type.Object({
    version: Type.Literal(1),
    verification_material: Type.Object({}),
    envelope: Type.Object({ statement: Type.String(), signature: Type.String() }),
  }),
  { maxItems: MOST },
)

/** @throws Problem('validation_error') */
export function readAttestations(text: string): readonly unknown[] {
  if (text.length > MOST_CHARACTERS) throw invalidField('attestations', `has more than ${MOST_CHARACTERS} characters`)
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    throw invalidField('attestations', 'is not JSON')
  }
  if (!Check(Attestations, read))
    throw invalidField('attestations', `is not a list of at most ${MOST} attestations (PEP 740)`)
  // The database stores neither NUL nor half a surrogate pair.
  if (/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(read)))
    throw invalidField('attestations', 'has a character that cannot be stored')
  return read
}

/** @param attestations those that came, once the form was read */
export function attestedUpload(provenance: Provenance, attestations: () => readonly unknown[]) {
  let found: ProvenanceFound | null = null
  const step: Step = {
    key: 'attestations',
    label: 'Attestations',
    async run({ format, facts: { name, version }, digests, filename }) {
      const file = { name, version, filename, digests }
      const document = JSON.stringify({ attestation_bundles: [{ attestations: attestations() }] })
      found = await provenance.verify({
        format: format.id,
        file,
        publishedAt: null,
        document,
        signatures: [],
        keys: null,
      })
      return { seen: provenanceSeen(found, false) }
    },
  }
  return {
    steps: () => (attestations().length > 0 ? [step] : []),
    /** what was verified, once the step ran */
    kept: () => (found ? keptOf(found) : []),
  }
}
