// A Sigstore of our own: an authority, a log of its certificates and a transparency log, with the trusted root that names them.
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { initializeCA, initializeCTLog, initializeTLog } from '@sigstore/mock'

export interface Statement {
  predicateType?: string
  predicate?: unknown
  subject: { name: string; digest: Record<string, string> }[]
}

export interface Signing {
  /** `https://github.com/acme/lib` */
  repository?: string
  workflow?: string
  ref?: string
  /** instead of a certificate: a key of the registry, and its name */
  by?: { keyid: string; key: KeyObject }
}

export interface Sigstore {
  /** trusted root, in JSON */
  root: string
  /** when it signs */
  clock: Date
  /** A bundle of Sigstore, in the form of JSON. */
  attest(statement: Statement, signing?: Signing): Promise<Bundle>
}

export interface Bundle extends Record<string, unknown> {
  mediaType: string
  verificationMaterial: Record<string, unknown> & { tlogEntries: Record<string, unknown>[] }
  dsseEnvelope: { payload: string; payloadType: string; signatures: { sig: string; keyid?: string }[] }
}

export const SLSA = 'https://slsa.dev/provenance/v1'
export const PUBLISH = 'https://github.com/npm/attestation/tree/main/specs/publish/v0.1'
const IN_TOTO = 'application/vnd.in-toto+json'
const FULCIO = '1.3.6.1.4.1.57264.1.'
const REPOSITORY = 'https://github.com/acme/lib'
const WORKFLOW = '.github/workflows/release.yml'

/** https://github.com/sigstore/rekor/blob/main/openapi.yaml */
interface LogEntry {
  body: string
  integratedTime: number
  logIndex: number
  verification: { signedEntryTimestamp: string; inclusionProof: { rootHash: string; checkpoint: string } }
}

const pairOf = (namedCurve = 'P-256') => generateKeyPairSync('ec', { namedCurve })
const base64 = (bytes: Uint8Array | ArrayBufferView<ArrayBuffer>) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

const DAY_MS = 86_400_000

/** Its clock is ahead, so that none of its certificates is valid now. */
export async function startSigstore(): Promise<Sigstore> {
  const clock = new Date(Math.floor(Date.now() / 1000) * 1000 + 30 * DAY_MS)
  const certificates = await initializeCTLog(pairOf(), clock)
  const authority = await initializeCA(pairOf('P-384'), certificates, clock)
  const log = await initializeTLog('https://log.example.org', pairOf(), clock)
  const logId = createHash('sha256').update(log.publicKey).digest('base64')
  const validFor = { start: '2020-01-01T00:00:00Z' }
  const key = (rawBytes: string) => ({ rawBytes, keyDetails: 'PKIX_ECDSA_P256_SHA_256', validFor })
  const root = {
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [
      {
        ...{ baseUrl: 'https://log.example.org', hashAlgorithm: 'SHA2_256', logId: { keyId: logId } },
        publicKey: key(base64(log.publicKey)),
      },
    ],
    certificateAuthorities: [
      {
        ...{ subject: { organization: 'example', commonName: 'example' }, uri: 'https://ca.example.org', validFor },
        certChain: { certificates: [{ rawBytes: base64(authority.rootCertificate) }] },
      },
    ],
    ctlogs: [
      {
        ...{ baseUrl: 'https://ct.example.org', hashAlgorithm: 'SHA2_256' },
        ...{ logId: { keyId: base64(certificates.logID) }, publicKey: key(base64(certificates.publicKey)) },
      },
    ],
    timestampAuthorities: [],
  }

  async function certificateOf(publicKey: KeyObject, signing: Signing): Promise<Buffer> {
    const { repository = REPOSITORY, workflow = WORKFLOW, ref = 'refs/tags/v1' } = signing
    const subjectAltName = `${repository}/${workflow}@${ref}`
    const extensions = [
      [8, 'https://token.actions.githubusercontent.com'],
      [12, repository],
      [13, '0'.repeat(40)],
      [14, ref],
      [18, subjectAltName],
    ].map(([number, value]) => ({ oid: `${FULCIO}${number}`, value: String(value) }))
    const spki = publicKey.export({ type: 'spki', format: 'der' })
    return Buffer.from(
      base64(await authority.issueCertificate({ publicKey: spki, subjectAltName, extensions })),
      'base64',
    )
  }

  /** Of the only entry of the log: its own proof. */
  async function entryFor(verifier: string, payload: Buffer, sig: string): Promise<Record<string, unknown>> {
    const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
    const spec = {
      envelopeHash: { algorithm: 'sha256', value: sha256(payload) },
      payloadHash: { algorithm: 'sha256', value: sha256(payload) },
      signatures: [{ signature: sig, verifier }],
    }
    const logged: Record<string, LogEntry> = await log.log({ kind: 'dsse', apiVersion: '0.0.1', spec })
    const entry = Object.values(logged)[0]!
    const { inclusionProof, signedEntryTimestamp } = entry.verification
    return {
      logIndex: String(entry.logIndex),
      logId: { keyId: logId },
      kindVersion: { kind: 'dsse', version: '0.0.1' },
      integratedTime: String(entry.integratedTime),
      inclusionPromise: { signedEntryTimestamp },
      inclusionProof: {
        ...{ logIndex: '0', treeSize: '1', hashes: [] },
        rootHash: Buffer.from(inclusionProof.rootHash, 'hex').toString('base64'),
        checkpoint: { envelope: inclusionProof.checkpoint },
      },
      canonicalizedBody: entry.body,
    }
  }

  return {
    root: JSON.stringify(root),
    clock,
    async attest({ predicateType = SLSA, predicate = PREDICATE, subject }, signing = {}) {
      const payload = Buffer.from(
        JSON.stringify({ _type: 'https://in-toto.io/Statement/v1', subject, predicateType, predicate }),
      )
      const pair = pairOf()
      const signed = Buffer.from(`DSSEv1 ${IN_TOTO.length} ${IN_TOTO} ${payload.length} ${payload.toString()}`)
      const sig = sign('sha256', signed, signing.by?.key ?? pair.privateKey).toString('base64')
      const certificate = signing.by ? null : await certificateOf(pair.publicKey, signing)
      const verifier = (certificate ?? Buffer.from(signing.by!.keyid)).toString('base64')
      return {
        mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
        verificationMaterial: {
          ...(certificate
            ? { certificate: { rawBytes: certificate.toString('base64') } }
            : { publicKey: { hint: signing.by!.keyid } }),
          tlogEntries: [await entryFor(verifier, payload, sig)],
        },
        dsseEnvelope: {
          ...{ payload: payload.toString('base64'), payloadType: IN_TOTO },
          signatures: [{ sig, ...(signing.by ? { keyid: signing.by.keyid } : {}) }],
        },
      }
    },
  }
}

const PREDICATE = { runDetails: { builder: { id: 'https://github.com/actions/runner/github-hosted' } } }

/** The same as PEP 740 has it. */
export function asPypi({ verificationMaterial, dsseEnvelope }: Bundle) {
  const { certificate, tlogEntries } = verificationMaterial
  return {
    version: 1,
    verification_material: {
      certificate: (certificate as { rawBytes: string }).rawBytes,
      transparency_entries: tlogEntries,
    },
    envelope: { statement: dsseEnvelope.payload, signature: dsseEnvelope.signatures[0]!.sig },
  }
}

/** A key as registries offer theirs. */
export function registryKey(keyid = 'SHA256:test') {
  const { publicKey, privateKey } = pairOf()
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  return {
    listed: {
      expires: null as string | null,
      keyid,
      keytype: 'ecdsa-sha2-nistp256',
      scheme: 'ecdsa-sha2-nistp256',
      key,
    },
    by: { keyid, key: privateKey },
    signatureOf: (text: string) => ({ keyid, sig: sign('sha256', Buffer.from(text), privateKey).toString('base64') }),
  }
}
