import { expect, test } from 'vitest'
import { isProvenance, otherRepository, provenanceSentence, publisherOf, type Attestation } from './provenance.ts'

const SLSA = 'https://slsa.dev/provenance/v1'
const GITHUB = 'https://token.actions.githubusercontent.com'
const of = (more: Partial<Attestation>): Attestation => ({
  ...{ predicate: SLSA, signer: 'someone', issuer: GITHUB, repository: 'https://github.com/acme/lib', commit: null },
  ...{ ref: null, workflow: '.github/workflows/release.yml', builder: null, log_index: 7, logged_at: null },
  ...more,
})

test.each<[Partial<Attestation>, object | null]>([
  [{}, { kind: 'GitHub', repository: 'acme/lib', workflow: 'release.yml' }],
  [
    { issuer: 'https://gitlab.com', repository: 'https://gitlab.com/acme/sub/lib', workflow: '.gitlab-ci.yml' },
    { kind: 'GitLab', repository: 'acme/sub/lib', workflow_filepath: '.gitlab-ci.yml' },
  ],
  [
    { issuer: 'https://accounts.google.com', signer: 'ci@acme.test', repository: null, workflow: null },
    { kind: 'Google', email: 'ci@acme.test' },
  ],
  [{ issuer: 'https://elsewhere.test' }, null],
  [{ repository: 'no address' }, null],
  [{ workflow: null }, null],
])('who published by %j', (more, expected) => {
  expect(publisherOf(of(more))).toEqual(expected)
})

test.each<[Partial<Attestation>, boolean]>([
  [{}, true],
  [{ predicate: 'https://docs.pypi.org/attestations/publish/v1' }, true],
  [{ predicate: 'https://slsa.dev/verification_summary/v1' }, false],
  [{ predicate: 'https://slsa.dev.evil.test/provenance/v1' }, false],
  [{ signer: null }, false],
])('%j is provenance: %s', (more, expected) => {
  expect(isProvenance(of(more))).toBe(expected)
})

test.each<[Partial<Attestation>[], string]>([
  [
    [{ ref: 'refs/tags/v1' }],
    'built from https://github.com/acme/lib by .github/workflows/release.yml at refs/tags/v1, log entry 7',
  ],
  [[{ predicate: 'else' }, { repository: null, workflow: null, log_index: null }], 'signed by someone'],
  [[{ predicate: 'else' }], 'it is attested, without provenance'],
])('%j is told as %s', (all, expected) => {
  expect(provenanceSentence(all.map(of))).toBe(expected)
})

test.each<[Partial<Attestation>[], string | null, boolean]>([
  [[{}], 'https://github.com/Acme/Lib', false],
  [[{}], 'https://github.com/acme/other', true],
  [[{}, { repository: 'https://github.com/else/lib' }], 'https://github.com/acme/lib', true],
  [[{ repository: null }], 'https://github.com/acme/lib', false],
  [[{}], null, false],
  [[], 'https://github.com/acme/lib', false],
])('%j beside the stated repository %s is another: %s', (all, stated, isOther) => {
  expect(otherRepository(all.map(of), stated) !== null).toBe(isOther)
})
