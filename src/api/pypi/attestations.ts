// Attestations that come with a file (PEP 740): their form is checked when they arrive, and the gate verifies what they say.
import Type from 'typebox'
import { Check } from 'typebox/value'
import { invalidField } from '../../domain/problem.ts'

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

/** As an index lists them; null for none. */
export const documentOf = (attestations: readonly unknown[]): string | null =>
  attestations.length === 0 ? null : JSON.stringify({ attestation_bundles: [{ attestations }] })
