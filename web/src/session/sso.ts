// Sign-in through an identity provider: authorization code with PKCE (RFC 7636). The verifier stays in this tab.
import { base, client, valueOf } from '../api/api.ts'
import { session } from './session.ts'

const STORED = 'gatehouse-sso'

interface Attempt {
  verifier: string
  state: string
  next: string | null
}

/** Goes to the identity provider. @throws ApiError */
export async function startSso(next: string | undefined): Promise<void> {
  const attempt: Attempt = { verifier: random(), state: random(), next: next ?? null }
  const answer = valueOf(
    await client.request('POST', '/auth/oidc/authorize', {
      body: {
        code_challenge: await challengeOf(attempt.verifier),
        state: attempt.state,
        redirect_uri: `${base}oidc-callback`,
      },
    }),
  )
  const { authorization_url: url } = (await answer.json()) as { authorization_url: string }
  sessionStorage.setItem(STORED, JSON.stringify(attempt))
  location.assign(url)
}

/** Completes the sign-in after the provider. @returns the page to show. @throws ApiError, Error when this tab did not start it */
export async function finishSso(code: string, state: string): Promise<string | null> {
  const stored = sessionStorage.getItem(STORED)
  sessionStorage.removeItem(STORED)
  const attempt = stored === null ? null : (JSON.parse(stored) as Attempt)
  if (attempt?.state !== state) throw new Error('this sign-in was not started in this tab; start it again')
  await session('POST', '/oidc', { code, state, code_verifier: attempt.verifier, redirect_uri: `${base}oidc-callback` })
  return attempt.next
}

/** 256 random bits in base64url. */
function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

async function challengeOf(verifier: string): Promise<string> {
  // Browsers offer digests to secure origins only; without TLS no provider redirects back anyway, except to localhost.
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
