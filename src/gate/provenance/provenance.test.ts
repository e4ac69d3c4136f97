// What attestations and signatures prove, and what hostile ones lead to.
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  asPypi,
  PUBLISH,
  registryKey,
  SLSA,
  startSigstore,
  type Bundle,
  type Sigstore,
} from '../../../test/fakes/sigstore.ts'
import { isProvenance, publisherOf } from '../../domain/provenance.ts'
import { MOST_ATTESTATIONS, type ProvenanceArgument } from './messages.ts'
import { provenanceSeen } from './provenance.ts'
import { readTrustedRoot } from './trusted-root.ts'
import { verifyProvenance } from './verify.ts'

const BYTES = Buffer.from('a tarball')
const hash = (name: string, bytes = BYTES) => createHash(name).update(bytes).digest('hex')
const digests = { sha512: hash('sha512'), sha256: hash('sha256'), sha1: hash('sha1'), md5: hash('md5') }
const npmFile = { name: '@acme/lib', version: '1.0.0', filename: 'lib-1.0.0.tgz', digests }
const pypiFile = { name: 'acme-lib', version: '1.0', filename: 'acme_lib-1.0-py3-none-any.whl', digests }
const npmSubject = { name: 'pkg:npm/%40acme/lib@1.0.0', digest: { sha512: digests.sha512 } }
const pypiSubject = { name: pypiFile.filename, digest: { sha256: digests.sha256 } }
const key = registryKey()
const keys = [{ keyid: key.listed.keyid, key: key.listed.key, expires: null }]

let sigstore: Sigstore
let other: Sigstore
let bundle: Bundle
beforeAll(async () => {
  ;[sigstore, other] = await Promise.all([startSigstore(), startSigstore()])
  bundle = await sigstore.attest({ subject: [npmSubject] })
})

const npmDocument = (bundles: unknown[]) => ({
  attestations: bundles.map((one) => ({ predicateType: SLSA, bundle: one })),
})
const pypiDocument = (attestations: unknown[]) => ({
  version: 1,
  attestation_bundles: [{ publisher: {}, attestations }],
})

function judge(document: unknown, more: Partial<ProvenanceArgument> = {}) {
  const text = document === null || typeof document === 'string' ? document : JSON.stringify(document)
  const known = { format: 'npm', file: npmFile, publishedAt: null, signatures: [], keys, root: sigstore.root }
  return verifyProvenance({ ...known, ...more, document: text })
}

/** A copy with one part replaced. */
function changed(path: (string | number)[], value: unknown): unknown {
  const copy = structuredClone(bundle) as Record<string | number, unknown>
  const last = path.at(-1)!
  let at = copy
  for (const part of path.slice(0, -1)) at = at[part] as Record<string | number, unknown>
  at[last] = typeof value === 'function' ? (value as (before: unknown) => unknown)(at[last]) : value
  return copy
}

describe('what verifies', () => {
  test('provenance of an npm package, with who built it', async () => {
    const { verified, faults } = await judge(npmDocument([bundle]))
    expect(faults).toEqual([])
    expect(verified[0]!.attestation).toMatchObject({
      ...{ predicate: SLSA, repository: 'https://github.com/acme/lib', workflow: '.github/workflows/release.yml' },
      ...{ ref: 'refs/tags/v1', issuer: 'https://token.actions.githubusercontent.com' },
      ...{ builder: 'https://github.com/actions/runner/github-hosted', logged_at: sigstore.clock.toISOString() },
    })
    expect(JSON.parse(verified[0]!.kept)).toEqual({ predicateType: SLSA, bundle })
  })

  test('attestations of a Python file', async () => {
    const attestation = asPypi(await sigstore.attest({ subject: [pypiSubject] }))
    const { verified, faults } = await judge(pypiDocument([attestation]), { format: 'pypi', file: pypiFile })
    expect(faults).toEqual([])
    expect(JSON.parse(verified[0]!.kept)).toEqual(attestation)
  })

  test('a statement and a signature of the registry, which are no provenance', async () => {
    const published = await sigstore.attest({ predicateType: PUBLISH, subject: [npmSubject] }, { by: key.by })
    const signed = key.signatureOf(`@acme/lib@1.0.0:sha512-${Buffer.from(digests.sha512, 'hex').toString('base64')}`)
    const found = await judge(npmDocument([published]), { signatures: [signed] })
    expect([found.faults, found.doubts, found.signedBy, found.verified.length]).toEqual([[], [], key.listed.keyid, 1])
    expect(provenanceSeen(found, false).result).toBe('signed')
    expect(provenanceSeen(found, true)).toMatchObject({
      result: 'withheld',
      message: 'none of its provenance is verified',
    })
  })
})

// Answers of the public registries, which npm (npm/cli) and pypi-attestations keep for their own tests.
describe('what Sigstore itself signed, by the trusted root that its library brings', () => {
  const listed = (name: string) =>
    readFile(new URL(`../../../test/samples/attestations/${name}.json`, import.meta.url), 'utf8')

  test('a Python file that its project published from a workflow', async () => {
    const sha256 = '9bb1add04b1b4e182be6b0b80931593f7a291eb49d69b4fd728a5d4cbcdc4bd3'
    const file = {
      name: 'pypi-attestations',
      version: '0.0.19',
      filename: 'pypi_attestations-0.0.19.tar.gz',
      digests: { ...digests, sha256 },
    }
    const text = await listed('pypi')
    const found = await judge(text, { format: 'pypi', file, root: await readTrustedRoot(null) })
    expect(found.faults).toEqual([])
    const { attestation } = found.verified[0]!
    expect(attestation).toMatchObject({
      ...{ repository: 'https://github.com/trailofbits/pypi-attestations', ref: 'refs/tags/v0.0.19' },
      ...{
        commit: '08802efe1f8e5fec4ad842d6b8ce97656092ee72',
        log_index: 153454663,
        logged_at: '2024-12-04T23:14:01.000Z',
      },
    })
    const [{ publisher }] = (JSON.parse(text) as { attestation_bundles: [{ publisher: unknown }] }).attestation_bundles
    expect({ environment: null, ...publisherOf(attestation) }).toEqual(publisher)
    expect(provenanceSeen(found, true)).toMatchObject({
      result: 'signed',
      message: expect.stringContaining('log entry 153454663'),
    })
  })

  test('an npm package that was built from a workflow, and that its registry took in', async () => {
    const sha512 =
      '7bea9f6e7ff37f5fab0b36bf061200fff03099fd2fd696b91d04bc5e4f225eb9fd6e0cadcad54ba980f43fb352a99e8810b4e0abeb5c0ef2cf9108cd1f258b36'
    const file = { name: 'sigstore', version: '1.0.0', filename: 'sigstore-1.0.0.tgz', digests: { ...digests, sha512 } }
    const theirs = {
      keyid: 'SHA256:jl3bwswu80PjjokCgh0o2w5c2U4LhQAE57gj9cz1kzA',
      key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1Olb3zMAFFxXKHiIkQO5cJ3Yhl5i6UPp+IhuteBJbuHcA5UogKo0EWtlWwW6KSaKoTNEYL7JlCQiVnkhBktUgg==',
      expires: Date.UTC(2025, 0, 29),
    }
    const known = { file, root: await readTrustedRoot(null) }
    const document = await listed('npm')
    const sig = 'MEQCIBlpcHT68iWOpx8pJr3WUzD1EqQ7tb0CmY36ebbceR6IAiAVGRaxrFoyh0/5B7H1o4VFhfsHw9F8G+AxOZQq87q+lg=='
    const signed = { signatures: [{ keyid: theirs.keyid, sig }], publishedAt: Date.UTC(2023, 1, 9) }
    const found = await judge(document, { ...known, ...signed, keys: [theirs] })
    expect([found.faults, found.signedBy]).toEqual([[], theirs.keyid])
    expect(found.verified.map(({ attestation }) => isProvenance(attestation))).toEqual([true, false])
    expect(found.verified[0]!.attestation).toMatchObject({
      ...{ repository: 'https://github.com/sigstore/sigstore-js', ref: 'refs/tags/v1.0.0' },
      ...{ commit: '06528997c3c8ab9f864fad9a3658446aca7fd86d', builder: 'https://github.com/npm/cli@9.4.2' },
    })
    const unknown = await judge(document, { ...known, keys: null })
    expect([unknown.verified.length, unknown.faults, unknown.doubts.length]).toEqual([1, [], 1])
    const ended = await judge(document, { ...known, keys: [{ ...theirs, expires: Date.UTC(2023, 0) }] })
    expect(ended.faults).toEqual([expect.stringMatching(/not valid for timestamp/)])
  })

  test.each([
    ['is no file', null, /ENOENT/],
    ['is no JSON', '<root>', /is not JSON/],
    ['names nobody', '{"certificateAuthorities":[],"tlogs":[{}]}', /names no authority or no log/],
  ])('a trusted root that %s stops the start', async (_, content, reason) => {
    const directory = await mkdtemp(join(tmpdir(), 'trusted-root-'))
    const path = join(directory, 'root.json')
    if (content !== null) await writeFile(path, content)
    await expect(readTrustedRoot(path)).rejects.toThrow(reason)
    await rm(directory, { recursive: true })
  })
})

describe('what does not', () => {
  const deep = '['.repeat(100_000)
  test.each<[string, () => unknown, RegExp]>([
    [
      'another digest',
      () => sigstore.attest({ subject: [{ ...npmSubject, digest: { sha512: hash('sha512', Buffer.from('other')) } }] }),
      /does not match its bytes/,
    ],
    ['no digest', () => sigstore.attest({ subject: [{ ...npmSubject, digest: {} }] }), /does not match its bytes/],
    [
      'only a weak digest',
      () => sigstore.attest({ subject: [{ ...npmSubject, digest: { sha1: digests.sha1 } }] }),
      /does not match its bytes/,
    ],
    [
      'a digest that is a list',
      () => sigstore.attest({ subject: [{ ...npmSubject, digest: { sha512: [digests.sha512] as never } }] }),
      /does not match its bytes/,
    ],
    [
      'another package',
      () => sigstore.attest({ subject: [{ ...npmSubject, name: 'pkg:npm/other@1.0.0' }] }),
      /about another package: pkg:npm\/other@1\.0\.0/,
    ],
    [
      'another version',
      () => sigstore.attest({ subject: [{ ...npmSubject, name: 'pkg:npm/%40acme/lib@1.0.1' }] }),
      /another package/,
    ],
    ['no subject', () => sigstore.attest({ subject: [] }), /another package: none/],
    [
      '257 subjects',
      () => sigstore.attest({ subject: Array.from({ length: 257 }, () => npmSubject) }),
      /more than 256 files/,
    ],
    ['another authority', () => other.attest({ subject: [npmSubject] }), /does not verify/],
    [
      'another statement under the signature',
      async () => {
        const { dsseEnvelope } = await sigstore.attest({ subject: [{ ...npmSubject, name: 'pkg:npm/other@1.0.0' }] })
        return changed(['dsseEnvelope', 'payload'], dsseEnvelope.payload)
      },
      /does not verify/,
    ],
    ['another signature', () => changed(['dsseEnvelope', 'signatures', 0, 'sig'], 'AAAA'), /does not verify/],
    ['no signature', () => changed(['dsseEnvelope', 'signatures'], []), /does not verify/],
    ['no entry in a log', () => changed(['verificationMaterial', 'tlogEntries'], []), /does not verify/],
    [
      'an entry of another log',
      async () =>
        changed(
          ['verificationMaterial', 'tlogEntries'],
          (await other.attest({ subject: [npmSubject] })).verificationMaterial.tlogEntries,
        ),
      /does not verify/,
    ],
    [
      'the entry of another statement',
      async () =>
        changed(
          ['verificationMaterial', 'tlogEntries'],
          (await sigstore.attest({ subject: [] })).verificationMaterial.tlogEntries,
        ),
      /does not verify/,
    ],
    [
      'a later time',
      () => changed(['verificationMaterial', 'tlogEntries', 0, 'integratedTime'], '1900000000'),
      /does not verify/,
    ],
    ['no certificate', () => changed(['verificationMaterial', 'certificate'], undefined), /does not verify/],
    [
      'a certificate of zeros',
      () => changed(['verificationMaterial', 'certificate', 'rawBytes'], 'A'.repeat(4000)),
      /does not verify/,
    ],
    [
      'a certificate that nests without end',
      () =>
        changed(['verificationMaterial', 'certificate', 'rawBytes'], Buffer.alloc(60_000, '3080').toString('base64')),
      /does not verify/,
    ],
    [
      'a chain that signs itself in a circle',
      () => {
        const copy = structuredClone(bundle)
        const { certificate, ...rest } = copy.verificationMaterial
        return {
          ...copy,
          mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.2',
          verificationMaterial: {
            ...rest,
            x509CertificateChain: { certificates: Array.from({ length: 1000 }, () => certificate) },
          },
        }
      },
      /more than 8/,
    ],
    [
      '1,000 entries of a log',
      () =>
        changed(['verificationMaterial', 'tlogEntries'], ([entry]: unknown[]) =>
          Array.from({ length: 1000 }, () => entry),
        ),
      /more than 8/,
    ],
    [
      'twice the same entry',
      () => changed(['verificationMaterial', 'tlogEntries'], ([entry]: unknown[]) => [entry, entry]),
      /does not verify/,
    ],
    [
      'another payload type',
      () => changed(['dsseEnvelope', 'payloadType'], 'text/plain'),
      /does not verify|no statement/,
    ],
    ['a number in place of a bundle', () => 7, /does not verify/],
    ['nothing in place of a bundle', () => null, /does not verify/],
    [
      'a list in place of a certificate',
      () => changed(['verificationMaterial', 'certificate'], [1]),
      /does not verify/,
    ],
    ['an unknown form', () => changed(['mediaType'], 'text/html'), /does not verify/],
    [
      'a key that the registry does not have',
      () => sigstore.attest({ subject: [npmSubject] }, { by: { ...key.by, keyid: 'SHA256:else' } }),
      /none of the registry/,
    ],
    [
      'a key of the registry under which somebody else signed',
      () => sigstore.attest({ subject: [npmSubject] }, { by: registryKey().by }),
      /does not verify/,
    ],
  ])('%s', async (_, make, reason) => {
    const { verified, faults } = await judge(npmDocument([await make()]))
    expect([verified, faults]).toEqual([[], [expect.stringMatching(reason)]])
    expect(provenanceSeen({ verified, faults, signedBy: null, doubts: [] }, false).result).toBe('withheld')
  })

  test.each<[string, () => unknown, RegExp]>([
    ['no JSON', () => 'no JSON', /not JSON/],
    ['JSON that nests without end', () => deep, /not JSON/],
    ['a page', () => '<html>', /not JSON/],
    ['a list', () => [], /another form/],
    ['a list that is a text', () => ({ attestations: 'x' }), /another form/],
    [
      '1,000 bundles',
      () => npmDocument(Array.from({ length: 1000 }, () => bundle)),
      new RegExp(`1000 attestations.*${MOST_ATTESTATIONS}`),
    ],
    [
      'a good one and a bad one',
      () => npmDocument([bundle, changed(['dsseEnvelope', 'payload'], 'AAAA')]),
      /does not verify/,
    ],
  ])('a document: %s', async (_, make, reason) => {
    expect((await judge(make())).faults).toEqual([expect.stringMatching(reason)])
  })

  test.each<[string, string, string]>([
    ['nests without end', 'more', '['.repeat(50_000) + ']'.repeat(50_000)],
    ['has 10,000 parts', 'more', JSON.stringify(Array.from({ length: 10_000 }, () => 1))],
    ['has a certificate that says how long it is', 'verification_material', '{"certificate":{"length":4e9}}'],
  ])('an attestation that %s', async (_, part, content) => {
    const attestation = asPypi(await sigstore.attest({ subject: [pypiSubject] }))
    const text = JSON.stringify(pypiDocument([{ ...attestation, [part]: '@' }])).replace('"@"', content)
    const { verified, faults } = await judge(text, { format: 'pypi', file: pypiFile })
    expect([verified, faults]).toEqual([[], ['its provenance is no bundle of Sigstore']])
  })

  test('a Python file with the attestation of another one', async () => {
    const file = { ...pypiSubject, name: 'acme_lib-1.0.tar.gz' }
    const attestation = asPypi(await sigstore.attest({ subject: [file] }))
    const { faults } = await judge(pypiDocument([attestation]), { format: 'pypi', file: pypiFile })
    expect(faults).toEqual([expect.stringMatching(/another package: acme_lib-1\.0\.tar\.gz/)])
  })
})

test('any part of a bundle replaced by something else is a fault, or changes nothing', async () => {
  const pathsIn = (value: unknown, at: (string | number)[] = []): (string | number)[][] =>
    typeof value !== 'object' || value === null
      ? [at]
      : [at, ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, [...at, name]))]
  const [honest] = (await judge(npmDocument([bundle]))).verified
  const others = [null, 7, -1, '', 'x', true, [], {}, [null], { length: 1e9 }, '9'.repeat(400), '\u0000', 1e300]
  for (const path of pathsIn(bundle).slice(1))
    for (const other of others) {
      const { verified, faults } = await judge(npmDocument([changed(path, other)]))
      const isFault = verified.length === 0 && faults.length === 1
      // The place in the log that is stated beside the proof is not signed.
      const { log_index: _, logged_at: __, ...said } = verified[0]?.attestation ?? { log_index: 0, logged_at: null }
      const { log_index: ___, logged_at: ____, ...known } = honest!.attestation
      if (!isFault) expect([path, other, faults, said]).toEqual([path, other, [], known])
    }
})

describe('signatures of a registry', () => {
  const text = `@acme/lib@1.0.0:sha512-${Buffer.from(digests.sha512, 'hex').toString('base64')}`
  const ended = [{ ...keys[0]!, expires: Date.UTC(2025, 0) }]
  test.each<[string, Partial<ProvenanceArgument>, { signedBy?: string; fault?: RegExp; doubt?: RegExp }]>([
    ['over these bytes', {}, { signedBy: key.listed.keyid }],
    ['over other bytes', { signatures: [key.signatureOf(`${text}x`)] }, { fault: /does not match its bytes/ }],
    ['by another key of the same name', { signatures: [registryKey().signatureOf(text)] }, { fault: /does not match/ }],
    ['that is no signature', { signatures: [{ keyid: key.listed.keyid, sig: '%%%' }] }, { fault: /does not match/ }],
    ['by a key that is not offered', { keys: [] }, { doubt: /does not offer/ }],
    ['by a key that is no key', { keys: [{ ...keys[0]!, key: 'AAAA' }] }, { doubt: /does not offer/ }],
    ['while the keys cannot be had', { keys: null }, { doubt: /cannot be had/ }],
    ['before its key ended', { keys: ended, publishedAt: Date.UTC(2024, 0) }, { signedBy: key.listed.keyid }],
    ['after its key ended', { keys: ended, publishedAt: Date.UTC(2025, 1) }, { fault: /had ended/ }],
  ])('%s', async (_, more, { signedBy = null, fault, doubt }) => {
    const found = await judge(null, { signatures: [key.signatureOf(text)], ...more })
    expect(found).toMatchObject({
      signedBy,
      faults: fault ? [expect.stringMatching(fault)] : [],
      doubts: doubt ? [expect.stringMatching(doubt)] : [],
    })
    const { result, concern = false } = provenanceSeen(found, false)
    expect([result, concern]).toEqual([fault ? 'withheld' : doubt ? 'allowed' : 'signed', doubt !== undefined])
  })
})
