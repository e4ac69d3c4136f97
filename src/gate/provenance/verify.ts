// Inside a reader: verifies what others signed about a file. Certificates and keys are judged at the time that the transparency log or
// a time-stamping authority attests, not now: those of Sigstore live for ten minutes.
import { bundleFromJSON } from '@sigstore/bundle'
import { TrustedRoot } from '@sigstore/protobuf-specs'
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify'
import { isObject, objectAt, objectsAt, stringAt, type Json } from '../../domain/json.ts'
import { isStorableJson } from '../../domain/storable.ts'
import { registryFormats } from '../../formats/index.ts'
import type { Attested, AttestationReading, AttestedFile } from '../../formats/registry-format.ts'
import { identityOf } from './identity.ts'
import { MOST_ATTESTATIONS, type ProvenanceArgument, type ProvenanceFound } from './messages.ts'
import { keyFinder, verifySignatures } from './registry-keys.ts'

type Verified = ProvenanceFound['verified'][number]

/** Of one bundle: entries of logs, time stamps, certificates, subjects. */
const MOST_PARTS = 8
const MOST_SUBJECTS = 256
/** Of its JSON: the proof of an entry has 40 hashes. */
const MOST_DEPTH = 16
const MOST_ITEMS = 1000
const IN_TOTO = 'application/vnd.in-toto+json'

/** What a statement or a bundle is not, in words for reviewers. */
class Fault extends Error {}

export async function verifyProvenance(argument: ProvenanceArgument): Promise<ProvenanceFound> {
  const { format, file, document } = argument
  const reading = registryFormats.find(({ id }) => id === format)?.attestations
  if (!reading) throw new Error(`no attestations of ${format}`)
  const found: ProvenanceFound = { verified: [], ...verifySignatures(reading, argument) }
  if (document === null) return found
  const trust = toTrustMaterial(TrustedRoot.fromJSON(JSON.parse(argument.root)), keyFinder(argument.keys ?? []))
  const verifier = new Verifier(trust)
  try {
    for (const attested of attestationsIn(document, reading)) {
      if (argument.keys === null && isByRegistry(attested))
        found.doubts.push('the keys of its registry cannot be had, so that a statement of it is not verified')
      else found.verified.push(verified(verifier, reading, attested, file))
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    found.faults.push(error.message)
  }
  return found
}

function attestationsIn(document: string, reading: AttestationReading): Attested[] {
  const list = reading.list(parsed(document, 'its attestations are'))
  if (!list) throw new Fault('its attestations have another form than expected')
  if (list.length > MOST_ATTESTATIONS)
    throw new Fault(`it has ${list.length} attestations, and at most ${MOST_ATTESTATIONS} are read`)
  return list
}

function verified(
  verifier: Verifier,
  reading: AttestationReading,
  { bundle, kept }: Attested,
  file: AttestedFile,
): Verified {
  requireSimple(kept, 0)
  requireSmall(bundle)
  const signed = attempt('its provenance does not verify', () => {
    const read = bundleFromJSON(bundle)
    const signer = verifier.verify(toSignedEntity(read))
    return { read, signer }
  })
  const { content, verificationMaterial } = signed.read
  if (content.$case !== 'dsseEnvelope' || content.dsseEnvelope.payloadType !== IN_TOTO)
    throw new Fault('its provenance is no statement of in-toto')
  const statement = parsed(content.dsseEnvelope.payload.toString('utf8'), 'its provenance is')
  if (!isObject(statement)) throw new Fault('its provenance is no statement of in-toto')
  requireSubject(reading, statement, file)
  const [entry] = verificationMaterial.tlogEntries
  const attestation = identityOf(signed.signer, statement, entry)
  const text = JSON.stringify(kept)
  if (!isStorableJson(attestation) || !isStorableJson(kept))
    throw new Fault('its provenance has a NUL or half a surrogate pair')
  return { attestation, kept: text }
}

/** What is compared with each other, or walked by the library before it verifies anything. */
function requireSmall(bundle: unknown): void {
  const material = isObject(bundle) ? objectAt(bundle, 'verificationMaterial') : {}
  const lists = [
    material['tlogEntries'],
    objectAt(material, 'timestampVerificationData')['rfc3161Timestamps'],
    objectAt(material, 'x509CertificateChain')['certificates'],
  ]
  if (lists.some((list) => Array.isArray(list) && list.length > MOST_PARTS))
    throw new Fault(`its provenance has more than ${MOST_PARTS} entries of logs, time stamps or certificates`)
}

/** An object in place of base64 is read as a list, which is as long as its `length` says. */
function requireSimple(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  const inner = Object.values(value)
  if (depth > MOST_DEPTH || inner.length > MOST_ITEMS || (!Array.isArray(value) && Object.hasOwn(value, 'length')))
    throw new Fault('its provenance is no bundle of Sigstore')
  for (const one of inner) requireSimple(one, depth + 1)
}

const isByRegistry = ({ bundle }: Attested): boolean =>
  isObject(bundle) && isObject(objectAt(bundle, 'verificationMaterial')['publicKey'])

function requireSubject({ isNamed, digest }: AttestationReading, statement: Json, file: AttestedFile): void {
  const subjects = objectsAt(statement, 'subject').flatMap((subject) => {
    const name = stringAt(subject, 'name')
    return name === null ? [] : [{ name, digest: objectAt(subject, 'digest') }]
  })
  if (subjects.length > MOST_SUBJECTS) throw new Fault(`its provenance is about more than ${MOST_SUBJECTS} files`)
  const named = subjects.filter((subject) => isNamed(subject, file))
  if (named.length === 0)
    throw new Fault(`its provenance is about another package: ${quoted(subjects[0]?.name ?? 'none')}`)
  if (!named.some((subject) => subject.digest[digest] === file.digests[digest]))
    throw new Fault('its provenance does not match its bytes')
}

function parsed(text: string, subject: string): unknown {
  return attempt(`${subject} not JSON`, () => JSON.parse(text) as unknown)
}

/** Sentences of the library may quote what it read. */
function attempt<T>(sentence: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof Fault ? error : new Fault(`${sentence}: ${quoted((error as Error).message)}`)
  }
}

const quoted = (text: string): string => text.replace(/[\p{C}\s]+/gu, ' ').slice(0, 200)
