// Checks requirements against what packages offer.
import type { ComparisonOperator, PackageFacts, Relation, Requirement } from '../domain/package.ts'
import type { VersionScheme } from './ecosystem.ts'
import { append } from '../kernel/append.ts'
import type { Reach } from './architectures.ts'

/** What is offered under a name: a package with its version, or a provide, with or without a version. */
export interface Offer {
  version?: string | null
  /** of the offering package; left out: that of the requiring package */
  arch?: string
  multiArch?: string | null
}

/** Offers of other packages, by name. */
export type Offers = ReadonlyMap<string, readonly Offer[]>

/** For offers without an architecture. */
const EVERYWHERE: Reach = { own: [], neutral: [] }

type Self = Pick<PackageFacts, 'name' | 'version' | 'provides' | 'requirements' | 'files'>
type Order = Pick<VersionScheme, 'compare' | 'meets'>

/** A requirement as records and answers show it; with alternatives, in the package's own words. */
export function shownRequirement({ anyOf, text }: Requirement): { name: string; version_constraint: string } {
  const [only, ...others] = anyOf
  if (!only || others.length > 0) return { name: text, version_constraint: '' }
  return { name: only.name, version_constraint: only.op ? `${only.op} ${only.version ?? ''}` : '' }
}

/**
 * The strong requirements that nothing satisfies, in order. They can be satisfied by offers and by the package's own name,
 * provides and, for paths, files.
 */
export function unsatisfied(
  facts: Self,
  offers: Pick<Offers, 'get'>,
  versions: Order,
  reach: Reach = EVERYWHERE,
): Requirement[] {
  const own = new Map<string, Offer[]>([[facts.name, [{ version: facts.version }]]])
  for (const { name, version } of facts.provides) {
    append(own, name, { version })
  }
  let files: Set<string> | undefined
  const isOwnFile = (name: string): boolean => {
    if (!name.startsWith('/')) return false
    files ??= new Set(facts.files)
    return files.has(name.slice(1))
  }
  const isMet = (requirement: Requirement): boolean =>
    [own, offers].some((from) => isMetBy(from, requirement, versions, reach)) ||
    requirement.anyOf.some(({ name }) => isOwnFile(name))
  return facts.requirements.filter((requirement) => requirement.strong && !isMet(requirement))
}

/** Whether an offer meets one of the alternatives of a requirement. */
export function isMetBy(offers: Pick<Offers, 'get'>, { anyOf }: Requirement, versions: Order, reach: Reach): boolean {
  return anyOf.some((relation) =>
    offers.get(relation.name)?.some((offer) => satisfies(relation, offer, versions, reach)),
  )
}

/** Whether an offer meets a relation of a package with this reach. */
export function satisfies(relation: Relation, offer: Offer, versions: Order, reach: Reach): boolean {
  return isWithinReach(relation, offer, reach) && fits(relation, offer, versions)
}

/**
 * Whether a package of the offer's architecture counts (https://wiki.debian.org/MultiArch/Implementation, "Dependencies
 * involving Architecture"). The relation `foo:any` is also met by a foreign package that allows it.
 */
function isWithinReach({ arch: wanted }: Relation, { arch, multiArch }: Offer, { own, neutral }: Reach): boolean {
  if (arch === undefined || neutral.includes(arch)) return true
  if (wanted !== undefined && wanted !== 'any') return arch === wanted
  return own.includes(arch) || multiArch === 'foreign' || (wanted === 'any' && multiArch === 'allowed')
}

/**
 * Without a rule of the format, a relation with a version is met only by an offer that states one
 * (https://www.debian.org/doc/debian-policy/ch-relationships.html#virtual-packages-provides; apk alike).
 */
function fits({ op, version }: Relation, offer: Offer, versions: Order): boolean {
  if (op === undefined || version === undefined) return true
  const offered = offer.version ?? null
  if (versions.meets) return versions.meets(offered, op, version)
  return offered !== null && holds(versions.compare(offered, version), op)
}

/** Whether an order, as `compare` returns it, satisfies the operator. */
export function holds(order: number, op: ComparisonOperator): boolean {
  switch (op) {
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '=':
      return order === 0
    case '>=':
      return order >= 0
    case '>':
      return order > 0
  }
}
