// How npm packages are attested: https://github.com/npm/attestation, and the signatures of registries.
import { isObject, objectsAt } from '../../domain/json.ts'
import type { AttestationReading } from '../registry-format.ts'

/** The form of the document with the attestations of a version. */
export const attestationsForm = (version: string): string => `attestations ${version}`

export const npmAttestations: AttestationReading = {
  list(document) {
    if (!isObject(document) || !Array.isArray(document['attestations'])) return null
    return objectsAt(document, 'attestations').map(({ predicateType, bundle }) => ({
      bundle,
      kept: { ...(typeof predicateType === 'string' ? { predicateType } : {}), bundle },
    }))
  },
  isNamed: (subject, { name, version }) => subject.name === purlOf(name, version),
  digest: 'sha512',
  signedText: ({ name, version, digests }) =>
    `${name}@${version}:sha512-${Buffer.from(digests.sha512, 'hex').toString('base64')}`,
}

/** `pkg:npm/%40scope/name@1.0.0`, as npm writes it */
const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace(/^@/, '%40')}@${version}`
