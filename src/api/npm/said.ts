// Compares a tarball with what its client said about it beside it. The documents show what the tarball says.
import { Problem } from '../../domain/problem.ts'
import { canonicalVersion } from '../../formats/npm/versions.ts'
import type { Candidate } from '../../gate/step.ts'
import type { Said } from './publication.ts'

/** @throws Problem('invalid_package' or 'checksum_mismatch') */
export function requireAsSaid(
  name: string,
  { names, versions, tags }: Said,
  { facts, digests }: Pick<Candidate, 'facts' | 'digests'>,
): void {
  const [[key, said] = ['', {}], ...others] = versions
  if (others.length > 0) throw new Problem('invalid_package', 'a request may publish one version only')
  for (const stated of [name, ...names, said.name ?? name])
    if (stated !== facts.name)
      throw new Problem('invalid_package', `this is published as ${stated}, and its package.json says ${facts.name}`)
  for (const stated of [key, said.version ?? key, ...tags.values()])
    if (canonicalVersion(stated) !== facts.version)
      throw new Problem(
        'invalid_package',
        `this is published as version ${stated.slice(0, 100)}, and its package.json says ${facts.version}`,
      )
  requireDigest('integrity', integrityIn(said.integrity), digests.sha512)
  requireDigest('shasum', said.shasum?.toLowerCase(), digests.sha1)
}

/** The bundles as a registry lists them, null for none. They are JSON, or the gate says that they are not: it parses them in a reader. */
export const bundlesDocument = (bundles: readonly string[]): string | null =>
  bundles.length === 0 ? null : `{"attestations":[${bundles.map((bundle) => `{"bundle":${bundle}}`).join()}]}`

/** The SHA-512 in hex, of one or several digests: https://w3c.github.io/webappsec-subresource-integrity/ */
function integrityIn(text: string | undefined): string | undefined {
  const stated = text?.split(/\s+/).find((one) => one.startsWith('sha512-'))
  return stated && Buffer.from(stated.slice('sha512-'.length).replace(/\?.*$/, ''), 'base64').toString('hex')
}

function requireDigest(what: string, expected: string | undefined, actual: string): void {
  if (expected === undefined || expected === actual) return
  throw new Problem('checksum_mismatch', `the tarball does not have the ${what} that was stated`, { expected, actual })
}
