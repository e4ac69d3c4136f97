// The names under which advisories may name a package. Pure.
import type { PackageFacts } from '../../../domain/package.ts'
import { ignoringEpoch, type Order } from '../../../domain/versions/order.ts'

/** One name to look a package up by, with its version. */
export interface Identity {
  name: string
  version: string
  order: Order
}

/** Advisories name source packages (Debian, Ubuntu, Alpine, Rocky, openSUSE), binary ones (AlmaLinux) or both (Red Hat). */
export function identitiesOf(facts: PackageFacts, order: Order): Identity[] {
  const identities: Identity[] = [{ name: facts.name, version: facts.version, order }]
  const source = facts.sourcePackage
  if (source === null || source === facts.name) return identities
  const version = facts.sourceVersion ?? facts.version
  const epochUnknown = facts.format === 'rpm' && facts.sourceVersion !== null && !/^[0-9]+:/.test(facts.sourceVersion)
  identities.push({ name: source, version, order: epochUnknown ? ignoringEpoch(order) : order })
  // Signed kernels are packed from a source of their own, with its own version; the trackers name `linux`.
  if (/^linux-signed(?:-|$)/.test(source)) identities.push({ name: 'linux', version: facts.version, order })
  return identities
}
