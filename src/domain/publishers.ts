// Trusted publishers: which jobs of a CI provider get a short-lived API token without a secret, and what it may do.
import { isGlob, matchesGlob } from './glob.ts'
import type { Role } from './roles.ts'
import { isWithin, type Scopes } from './scopes.ts'

export interface Publisher {
  readonly name: string
  readonly issuer: string
  readonly audience: string
  /** patterns by claim; all must match */
  readonly claims: Readonly<Record<string, string>>
  readonly role: Role
  readonly scopes?: Scopes | undefined
  readonly minutes?: number | undefined
}

/** Roles that a job may get. An admin's rights (users, settings, backups) are for people and for tokens that one of them made. */
export const PUBLISHER_ROLES = ['maintainer', 'uploader', 'auditor', 'reader'] as const
export const PUBLISHER_MINUTES = 15
/** Claims that name one repository or project by its path; a pattern must hold the owner literally. */
const PATHS = ['repository', 'project_path'] as const
/** Claims that name a repository, a project or its owner; only the whole value counts. */
const NAMES = [
  'repository_id',
  'repository_owner',
  'repository_owner_id',
  'project_id',
  'namespace_id',
  'namespace_path',
] as const

/**
 * What is wrong with the conditions, as the end of "FIELD …", or null. Every customer of a CI provider gets ID tokens of the
 * same issuer with any audience, so a condition must name the owner of the jobs, without a wildcard.
 */
export function claimsFault(claims: Readonly<Record<string, string>>): string | null {
  const has = (claim: string) => Object.hasOwn(claims, claim)
  const wide = PATHS.find((claim) => has(claim) && !/^[^*?/]+\//.test(claims[claim] as string))
  if (wide) return `must have the owner in ${wide} without wildcards, such as acme/*`
  if (has('sub') && isGlob(claims['sub'] as string) && !bindsSubject(claims['sub'] as string))
    return 'must have the owner in sub without wildcards, such as repo:acme/*'
  const glob = NAMES.find((claim) => has(claim) && isGlob(claims[claim] as string))
  if (glob) return `must have the whole ${glob}, without wildcards`
  if ([...PATHS, ...NAMES, 'sub'].some(has)) return null
  return `must have a condition on one of sub, ${[...PATHS, ...NAMES].join(', ')}: others match jobs of every customer of the provider`
}

/**
 * `repo:acme/x`, `project_path:acme/x`, `organization:acme:…`, `org/0123/…`: a word after which an owner follows, and the whole
 * owner before the first wildcard. After other words (`environment:production:*`) any customer may have the same value.
 */
function bindsSubject(pattern: string): boolean {
  return /^(?:repo|repository|repository_owner|project|project_path|namespace_path|organization|org|workspace)(?:_id)?[:/][^*?/:]+[/:]/.test(
    pattern,
  )
}

/** The claims that differ from the conditions; empty when the publisher accepts the token. Lists match by any member. */
export function differingClaims(publisher: Publisher, payload: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(publisher.claims)
    .filter(([claim, pattern]) => {
      const value = Object.hasOwn(payload, claim) ? payload[claim] : undefined
      const texts = (Array.isArray(value) ? value : [value]).filter(
        (one) => typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean',
      )
      return !texts.some((text) => matchesGlob(pattern, String(text)))
    })
    .map(([claim]) => claim)
}

/** The publisher that a job's token still belongs to: one of its name, whose scopes cover those of the token. */
export function publisherOf<P extends Pick<Publisher, 'name' | 'scopes'>>(
  publishers: readonly P[],
  token: { publisher: string | null; scopes: Scopes | null },
): P | undefined {
  return publishers.find(({ name, scopes }) => name === token.publisher && isWithin(token.scopes, scopes ?? {}))
}

/** Each token has its own name, so that each change can be traced to one job. */
export const jobTokenName = (publisher: string, tokenId: string) => `${publisher}#${tokenId.slice(0, 8)}`

/** The publisher in the name of an actor that is a job's token; null for other names. */
export function publisherOfActor(actor: string): string | null {
  return /^token:(.+)#[0-9a-f]{8}$/.exec(actor)?.[1] ?? null
}
