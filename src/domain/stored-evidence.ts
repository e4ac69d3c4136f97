// The compact form of findings in evidence: without fields of the record or of a decision, and one text for equal findings. Pure.
import type { Found } from './evidence.ts'
import type { Finding } from './finding.ts'
import { canonicalJson } from './json.ts'

/** A finding as an engine reported it. The fields left out are in the record. */
export type StoredFound = Omit<
  Finding,
  'action' | 'first_seen' | 'accepted_by_decision' | 'package_name' | 'package_version' | 'package_type'
> &
  Partial<Pick<Finding, 'package_name' | 'package_version' | 'package_type'>>

/** The package that findings are about unless they name another one. */
export interface About {
  name: string
  version: string
  format: string
}

type Reported = Omit<Found, 'first_seen' | 'accepted_by_decision'>

/** @returns null without findings; packages built from one source share the text if only their names differ */
export function packFound(findings: readonly Reported[], about: About): string | null {
  if (findings.length === 0) return null
  const packed = findings.map((found) => {
    const { package_name, package_version, package_type, ...rest } = found
    const { action: _, first_seen: __, accepted_by_decision: ___, ...said } = rest as Omit<Found, keyof typeof own>
    const own = { package_name, package_version, package_type }
    const isOwn = package_name === about.name && package_version === about.version && package_type === about.format
    return isOwn ? said : { ...said, ...own }
  })
  return canonicalJson(packed)
}

export function unpackFound(findings: readonly StoredFound[], { name, version, format }: About): Reported[] {
  const own = { package_name: name, package_version: version, package_type: format }
  return findings.map((found) => ({ ...own, ...found }))
}
