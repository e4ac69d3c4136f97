// ID tokens of CI jobs: GitHub gives one on request, others put one into the environment.
import type { Client } from 'gatehouse-client'
import { failed, need, signedOut } from './failure.ts'

type Env = Readonly<Record<string, string | undefined>>

export type IdTokenSource = { kind: 'request'; url: string; bearer: string } | { kind: 'given'; token: string }

/** Where the ID token of this job is; null when this is no such job. */
export function idTokenSource(env: Env): IdTokenSource | null {
  const { GATEHOUSE_ID_TOKEN: given, ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = env
  if (given) return { kind: 'given', token: given.trim() }
  return url && bearer ? { kind: 'request', url, bearer } : null
}

/** The address at GitHub that answers with an ID token for this audience. */
export function idTokenAddress(url: string, audience: string): string {
  const address = new URL(url)
  address.searchParams.set('audience', audience)
  return address.href
}

/** @param audience who the token is for: the address of the service, as its admin wrote it. @throws Failure */
async function idTokenOf(
  source: IdTokenSource,
  audience: string,
  { fetch, signal }: { fetch: typeof globalThis.fetch; signal: AbortSignal },
): Promise<string> {
  if (source.kind === 'given') return source.token
  const headers = { authorization: `Bearer ${source.bearer}`, accept: 'application/json' }
  const response = await fetch(idTokenAddress(source.url, audience), { headers, signal, redirect: 'manual' }).catch(
    (error: unknown) => {
      const { message, cause } = error as Error
      throw failed(`the CI provider gives no ID token: ${cause instanceof Error ? cause.message : message}`)
    },
  )
  if (!response.ok) throw signedOut(`the CI provider gives no ID token: it answered ${response.status}`)
  const { value } = (await response.json()) as { value?: unknown }
  if (typeof value !== 'string') throw signedOut('the CI provider gives no ID token: its answer has no value')
  return value
}

export interface Exchange {
  env: Env
  anonymous: Client
  fetch: typeof globalThis.fetch
  signal: AbortSignal
}

/** Exchanges the ID token of a job for an API token, which lives for minutes. @throws Failure */
export async function exchange(source: IdTokenSource, { env, anonymous, ...way }: Exchange) {
  const audience = env['GATEHOUSE_AUDIENCE'] || anonymous.url
  const token = await idTokenOf(source, audience, way)
  return need(await anonymous.call('POST /auth/oidc/exchange', { body: { token }, signal: way.signal }))
}

/** How long before its end a token is replaced. */
const SPARE_MS = 30_000

/** Called for each request. A provider that gives ID tokens on request is asked again before the API token ends. */
export function jobCredential(source: IdTokenSource, means: () => Promise<Exchange>): () => Promise<string> {
  let current: Promise<{ token: string; expires_at: string }> | null = null
  return async () => {
    current ??= means().then((one) => exchange(source, one))
    const { token, expires_at: end } = await current
    // One that was given works once, so it cannot be exchanged again.
    if (source.kind === 'request' && Date.parse(end) - Date.now() < SPARE_MS) current = null
    return token
  }
}
