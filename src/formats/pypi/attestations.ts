// How Python packages are attested: https://packaging.python.org/specifications/index-hosted-attestations/ (PEP 740)
import { isObject, objectAt, objectsAt } from '../../domain/json.ts'
import type { Attested, AttestationReading } from '../registry-format.ts'
import { canonicalName, filenameOf, readFilename } from './names.ts'

export const pypiAttestations: AttestationReading = {
  list(document) {
    if (!isObject(document) || !Array.isArray(document['attestation_bundles'])) return null
    return objectsAt(document, 'attestation_bundles').flatMap((bundle) =>
      objectsAt(bundle, 'attestations').map(attestedOf),
    )
  },
  // Build tools have written the name of one file in several ways.
  isNamed(subject, { name, version, filename }) {
    const stated = readFilename(subject.name)
    return (
      stated !== null &&
      canonicalName(stated.name) === name &&
      stated.version === version &&
      filenameOf(name, version, stated.file) === filename
    )
  },
  digest: 'sha256',
}

/** The same as a bundle of Sigstore. */
function attestedOf(attestation: Record<string, unknown>): Attested {
  const { certificate, transparency_entries: tlogEntries } = objectAt(attestation, 'verification_material')
  const { statement, signature } = objectAt(attestation, 'envelope')
  return {
    kept: attestation,
    bundle: {
      mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      verificationMaterial: { certificate: { rawBytes: certificate }, tlogEntries },
      dsseEnvelope: {
        payload: statement,
        payloadType: 'application/vnd.in-toto+json',
        signatures: [{ sig: signature }],
      },
    },
  }
}
