// What the attestations of a file say, once they were verified: who built it, where, and from what. Pure.

/** A signature of a registry about one of its files. */
export interface RegistrySignature {
  keyid: string
  sig: string
}

/** A key that a registry signs with: SubjectPublicKeyInfo in base64, on the curve P-256. */
export interface RegistryKey {
  keyid: string
  key: string
  /** ms since 1970; null for one without an end */
  expires: number | null
}

/** A verified statement about a file. What is null was not stated. */
export interface Attestation {
  /** its kind, as an address: `https://slsa.dev/provenance/v1` */
  predicate: string
  /** whom the certificate names: for a workflow its file and ref; null when a key of the registry signed it */
  signer: string | null
  /** who vouches for the signer */
  issuer: string | null
  repository: string | null
  commit: string | null
  ref: string | null
  /** the file of the workflow, without its repository */
  workflow: string | null
  builder: string | null
  /** in the transparency log */
  log_index: number | null
  /** ISO 8601 */
  logged_at: string | null
}

/** An attestation as clients get it, and who published the file by it. */
export interface KeptAttestation {
  attestation: unknown
  publisher: Record<string, string> | null
}

/** https://slsa.dev/spec/v1.0/provenance and https://docs.pypi.org/attestations/publish/v1/ */
const PROVENANCE = /^https:\/\/(?:slsa\.dev\/provenance|docs\.pypi\.org\/attestations\/publish)\//

/** Says who built or published it, under a certificate. A registry only says that it took the file in. */
export const isProvenance = ({ signer, predicate }: Attestation): boolean =>
  signer !== null && PROVENANCE.test(predicate)

const LONGEST = 300

/** One sentence for reviewers. */
export function provenanceSentence(all: readonly Attestation[]): string {
  const [first] = all.filter(isProvenance)
  if (!first) return 'it is attested, without provenance'
  const { repository, workflow, ref, signer, log_index: entry } = first
  const by = repository === null ? `signed by ${signer}` : `built from ${repository}`
  const how = [workflow && `by ${workflow}`, ref && `at ${ref}`].filter(Boolean).join(' ')
  return `${`${by} ${how}`.trim().slice(0, LONGEST)}${entry === null ? '' : `, log entry ${entry}`}`
}

/** A sentence about provenance of another repository than the package names; null when they agree, or one is not known. */
export function otherRepository(all: readonly Attestation[], stated: string | null): string | null {
  const plain = (address: string) => address.toLowerCase()
  const built = all.filter(isProvenance).flatMap(({ repository }) => repository ?? [])
  const other = built.find((repository) => stated !== null && plain(repository) !== plain(stated))
  return other === undefined
    ? null
    : `it is built from ${other.slice(0, LONGEST)}, and says that it comes from ${stated}`
}

/** How PEP 740 names who published a file; those that it has no name for are not named. */
export function publisherOf({ issuer, signer, repository, workflow }: Attestation): Record<string, string> | null {
  if (issuer === 'https://accounts.google.com' && signer !== null) return { kind: 'Google', email: signer }
  const at = repository === null ? null : URL.parse(repository)
  if (!at || workflow === null) return null
  const name = at.pathname.slice(1)
  if (issuer === 'https://token.actions.githubusercontent.com')
    return { kind: 'GitHub', repository: name, workflow: workflow.replace(/^.*\//, '') }
  return issuer === 'https://gitlab.com' ? { kind: 'GitLab', repository: name, workflow_filepath: workflow } : null
}
