// /webhooks: advisories and known-exploited lists, signed with HMAC-SHA256 (RFC 2104) over the raw body.
import type { FastifyRequest } from 'fastify'
import type { Exploited } from '../../domain/advisory.ts'
import { invalidField, Problem } from '../../domain/problem.ts'
import type { Clock } from '../../kernel/clock.ts'
import { equalSecret, hmacSha256Hex, sha256Hex } from '../../kernel/crypto.ts'
import { isCve, readExploited } from '../../gate/engines/enrich/read.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { forgetDelivery, rememberDelivery } from '../../store/webhook-deliveries.ts'
import { parseJson } from '../http/bodies.ts'
import { handle, type Route } from '../http/route.ts'
import { postWebhooksGithub, postWebhooksKev, postWebhooksVcs } from './webhooks.contract.ts'

/** CISA's catalog had 1,500 entries and 20,000 values in 2026. A million keys take a second to parse. */
const MOST_VALUES = 150_000

export interface WebhookDeps {
  db: Db
  clock: Clock
  audit: AuditLog
  secret: string | null
  /** Stores known-exploited entries. @returns how many records changed */
  exploited(entries: readonly Exploited[]): Promise<number>
  /** Matches records with this CVE, and all others with changed data, again. @returns how many records changed */
  advisory(cve: string): Promise<number>
}

export function webhookRoutes(deps: WebhookDeps): Route[] {
  const signed = { beforeBody: (request: FastifyRequest) => void signatureOf(deps.secret, request) }
  const vcs = (call: { raw: FastifyRequest }) => receive(deps, call.raw, (body) => takeAdvisory(deps, call.raw, body))
  return [
    handle(postWebhooksVcs, vcs, signed),
    handle(postWebhooksGithub, vcs, signed),
    handle(
      postWebhooksKev,
      (call) =>
        receive(deps, call.raw, async (body) => {
          const entries = readExploited(body)
          const updated = await deps.exploited(entries)
          const ids = [...new Set(entries.map(({ cve }) => cve))]
          await note(
            deps,
            call.raw,
            'WEBHOOK_KEV',
            `${ids.length} known-exploited vulnerabilities, ${updated} packages changed`,
          )
          return { status: 'processed', cve_ids: ids, count: ids.length, manifests_updated: updated }
        }),
      signed,
    ),
  ]
}

/** Checks the signature, parses the body and handles each delivery once. A failed delivery may be sent again. */
async function receive<T extends { status: string }>(
  deps: WebhookDeps,
  request: FastifyRequest,
  take: (body: unknown) => Promise<T>,
): Promise<T | { status: 'duplicate' }> {
  const { secret, signature } = signatureOf(deps.secret, request)
  const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  if (!equalSecret(signature, `sha256=${hmacSha256Hex(secret, raw)}`))
    throw new Problem('unauthorized', 'the signature is missing or wrong')
  const body = parseJson(raw, MOST_VALUES)
  if (body === undefined) throw invalidField('body', 'is not valid JSON')
  const delivery = request.headers['x-github-delivery']
  // The signature covers only the body, so anyone who saw a delivery could send it under another id.
  const ids = [
    `body:${sha256Hex(raw)}`,
    ...(typeof delivery === 'string' ? [`delivery:${delivery.slice(0, 200)}`] : []),
  ]
  const keys = ids.map((id) => `${request.routeOptions.url ?? ''}:${id}`)
  if (!(await rememberDelivery(deps.db, keys, deps.clock.now()))) return { status: 'duplicate' }
  try {
    return await take(body)
  } catch (error) {
    await forgetDelivery(deps.db, keys)
    throw error
  }
}

/** Checks everything that needs no body. */
function signatureOf(secret: string | null, { headers }: FastifyRequest): { secret: string; signature: string } {
  if (!secret)
    throw new Problem(
      'webhook_not_configured',
      'WEBHOOK_SECRET is not set, so no webhook can be verified',
      {},
      { retryAfterSeconds: 3600 },
    )
  const signature = headers['x-hub-signature-256']
  if (typeof signature !== 'string' || !/^sha256=[0-9a-f]{64}$/.test(signature))
    throw new Problem('unauthorized', 'the signature is missing or wrong')
  return { secret, signature }
}

async function takeAdvisory(
  deps: WebhookDeps,
  request: FastifyRequest,
  body: unknown,
): Promise<{ status: 'processed' | 'ok' | 'ignored'; cve_id?: string; event?: string; manifests_updated?: number }> {
  const payload = body as { event?: unknown; security_advisory?: { cve_id?: unknown; identifiers?: unknown } } | null
  const header = request.headers['x-github-event']
  const event = typeof header === 'string' ? header : typeof payload?.event === 'string' ? payload.event : ''
  if (event === 'ping') return { status: 'ok', event }
  if (event !== 'security_advisory') return { status: 'ignored', event }
  const advisory = payload?.security_advisory
  const identifiers: unknown[] = Array.isArray(advisory?.identifiers) ? advisory.identifiers : []
  const listed = identifiers
    .map((one) => one as { type?: unknown; value?: unknown } | null)
    .find((one) => one?.type === 'CVE')
  const cve = advisory?.cve_id ?? listed?.value
  if (typeof cve !== 'string' || !isCve(cve))
    throw new Problem('validation_error', 'the advisory names no CVE', {
      errors: [{ field: 'security_advisory.cve_id', message: 'a CVE id is expected' }],
    })
  const updated = await deps.advisory(cve)
  await note(deps, request, 'WEBHOOK_ADVISORY', `${cve}: ${updated} packages changed`)
  return { status: 'processed', cve_id: cve, manifests_updated: updated }
}

async function note({ audit }: WebhookDeps, request: FastifyRequest, action: string, detail: string): Promise<void> {
  await audit.record({
    action,
    result: 'SUCCESS',
    user: 'webhook',
    detail,
    ip: request.clientAddress,
    requestId: request.id,
  })
}
