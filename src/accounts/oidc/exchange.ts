// Exchanges the ID token of a CI job for a short-lived API token: no secret is stored at the CI provider ("trusted publishing").
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Origin } from '../../domain/audit.ts'
import { isProblem, Problem } from '../../domain/problem.ts'
import { differingClaims, jobTokenName, PUBLISHER_MINUTES, type Publisher } from '../../domain/publishers.ts'
import type { Role } from '../../domain/roles.ts'
import type { Scopes } from '../../domain/scopes.ts'
import type { Settings } from '../../domain/settings.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import { randomToken } from '../../kernel/crypto.ts'
import { change, type ChangeDeps } from '../change.ts'
import { TOKEN_PREFIX, tokenHash } from '../tokens.ts'
import { claimedIssuer, verifyIdToken, type IdToken } from './id-tokens.ts'
import type { Providers } from './providers.ts'

/** Expired rows of each kind removed with each exchange. */
const CLEANED_AT_ONCE = 100
/** Most claims in the audit log: they lead from a package to the run that built it. Providers may add claims at any time. */
const MOST_CLAIMS = 40
const LONGEST_CLAIM = 300

export interface JobToken {
  token: string
  token_type: 'bearer'
  token_id: string
  name: string
  publisher: string
  role: Role
  scopes: Scopes | null
  /** seconds */
  expires_in: number
  expires_at: string
}

export interface Exchange {
  /**
   * @param idToken as the provider gave it to the job; it works once
   * @throws Problem `unauthorized`; `upstream_error`, `forbidden_target` when the keys of its issuer cannot be read
   */
  exchange(idToken: string, origin: Origin): Promise<JobToken>
}

export function createExchange(
  deps: ChangeDeps & { clock: Clock; settings: () => Settings; providers: Pick<Providers, 'keysOf'> },
): Exchange {
  const { audit, clock } = deps

  /** The publisher whose conditions a verified token meets, or why there is none. */
  async function accept(text: string): Promise<{ publisher: Publisher; token: IdToken } | ExchangeRefusal> {
    const issuer = claimedIssuer(text)
    if (issuer === null) return { why: 'it is no ID token' }
    const publishers = deps.settings().trusted_publishing.publishers.filter((one) => one.issuer === issuer)
    // Issuers that no admin named are never contacted.
    if (publishers.length === 0) return { why: `no publisher has the issuer ${issuer.slice(0, 300)}` }
    const audiences = [...new Set(publishers.map(({ audience }) => audience))]
    const token = await verifyIdToken(deps, text, issuer, audiences)
    if ('refused' in token) return { why: token.refused }
    const differing = publishers.map((publisher) => [
      ...(publisher.audience === token.audience ? [] : ['aud']),
      ...differingClaims(publisher, token.claims),
    ])
    const at = differing.findIndex((claims) => claims.length === 0)
    if (at !== -1) return { publisher: publishers[at] as Publisher, token }
    const told = publishers.map(({ name }, which) => `${name}: ${differing[which]?.join(', ')}`).slice(0, 10)
    return { why: `claims differ from those of the publishers (${told.join('; ')})`, token }
  }

  /** @returns null when the ID token was used before */
  async function issue({ publisher, token: id }: { publisher: Publisher; token: IdToken }, origin: Origin) {
    const now = clock.now()
    const life = (publisher.minutes ?? PUBLISHER_MINUTES) * 60
    const expiresAt = new Date(now.getTime() + life * 1000)
    const scopes = publisher.scopes ?? null
    const token = TOKEN_PREFIX + randomToken(32)
    const tokenId = randomUUID()
    const name = jobTokenName(publisher.name, tokenId)
    return change(deps, `token:${name}`, origin, async (tx, note): Promise<JobToken | null> => {
      const isNew = await tx
        .insertInto('used_id_tokens')
        .values({ token_hash: id.fingerprint, expires_at: id.acceptedUntil })
        .onConflict((conflict) => conflict.doNothing())
        .returning('token_hash')
        .executeTakeFirst()
      if (!isNew) return null
      await tx
        .insertInto('api_tokens')
        .values({
          id: tokenId,
          name,
          role: publisher.role,
          token_hash: tokenHash(token, scopes),
          token_hint: token.slice(-4),
          created_by: `publisher ${publisher.name}`,
          created_by_id: null,
          created_at: now,
          last_used: null,
          expires_at: expiresAt,
          revoked_at: null,
          scopes: scopes && JSON.stringify(scopes),
          publisher: publisher.name,
        })
        .execute()
      await sql`delete from used_id_tokens where token_hash in (select token_hash from used_id_tokens
        where expires_at <= ${now} limit ${CLEANED_AT_ONCE} for update skip locked)`.execute(tx)
      // The audit log keeps their history; otherwise the listing would grow with every job.
      await sql`delete from api_tokens where id in (select id from api_tokens
        where publisher is not null and expires_at <= ${now} limit ${CLEANED_AT_ONCE} for update skip locked)`.execute(
        tx,
      )
      await note(
        'TOKEN_EXCHANGE',
        `token ${name} as ${publisher.role} for ${id.subject.slice(0, LONGEST_CLAIM)} of ${id.issuer}`,
        {
          token_id: tokenId,
          publisher: publisher.name,
          role: publisher.role,
          issuer: id.issuer,
          subject: id.subject.slice(0, LONGEST_CLAIM),
          expires_at: isoTime(expiresAt),
          claims: readable(id),
          ...(scopes ? { scopes } : {}),
        },
      )
      return {
        token,
        token_type: 'bearer',
        token_id: tokenId,
        name,
        publisher: publisher.name,
        role: publisher.role,
        scopes,
        expires_in: life,
        expires_at: isoTime(expiresAt),
      }
    })
  }

  async function refuse(outcome: string, detail: string, origin: Origin, token?: IdToken): Promise<void> {
    await audit.record({
      action: 'TOKEN_EXCHANGE',
      result: 'FAILURE',
      user: null,
      detail,
      outcome,
      ip: origin.ip,
      requestId: origin.requestId,
      // Only claims that the issuer signed: other text could name anybody.
      ...(token
        ? { extra: { issuer: token.issuer, subject: token.subject.slice(0, LONGEST_CLAIM), claims: readable(token) } }
        : {}),
    })
  }

  return {
    async exchange(idToken, origin) {
      try {
        const accepted = await accept(idToken)
        if ('why' in accepted) {
          await refuse('unauthorized', accepted.why, origin, accepted.token)
          throw new Problem(
            'unauthorized',
            accepted.token
              ? 'the ID token is genuine, but no trusted publisher accepts its claims; the audit log names those that differ'
              : 'the ID token is not accepted; the audit log names the reason',
          )
        }
        const answer = await issue(accepted, origin)
        if (answer) return answer
        await refuse('unauthorized', 'it was used before', origin, accepted.token)
      } catch (error) {
        if (isProblem(error) && error.code !== 'unauthorized') await refuse(error.code, error.detail, origin)
        throw error
      }
      throw new Problem('unauthorized', 'the ID token was used before; each works once')
    },
  }
}

interface ExchangeRefusal {
  why: string
  /** set if it is genuine */
  token?: IdToken
}

/** Claims that are short texts and numbers. */
function readable({ claims }: IdToken): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(claims)
      .filter((entry): entry is [string, string | number | boolean] =>
        ['string', 'number', 'boolean'].includes(typeof entry[1]),
      )
      .filter(([name]) => name.length <= 100)
      .slice(0, MOST_CLAIMS)
      .map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, LONGEST_CLAIM) : value]),
  )
}
