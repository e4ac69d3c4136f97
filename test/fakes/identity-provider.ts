// The certified provider library oidc-provider on loopback: people log in and consent without questions.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** The used part of oidc-provider, which has no types. */
interface Library {
  callback(): (request: IncomingMessage, response: ServerResponse) => void
  interactionDetails(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{ prompt: { name: string }; session: { accountId: string }; params: { client_id: string } }>
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object, how: object): Promise<void>
  Grant: new (of: { accountId: string; clientId: string }) => {
    addOIDCScope(scopes: string): void
    save(): Promise<string>
  }
}

export const CLIENT = { id: 'gatehouse', secret: 'a-secret-of-the-client-with-some-length' }
export const REDIRECT = 'http://localhost:3003/oidc-callback'

export interface IdentityProvider {
  readonly url: string
  /** claims by subject */
  people: Record<string, Record<string, unknown>>
  /** The person who logs in with the next visits. */
  person: string
  /** Follows the browser's way up to the redirect. @returns the values in the redirect */
  visit(authorizationUrl: string): Promise<{ code: string; state: string; iss: string }>
  close(): Promise<void>
}

/** @param redirect allowed address for the way back */
export async function startIdentityProvider(redirect = REDIRECT): Promise<IdentityProvider> {
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = await createProvider(url, redirect, (subject) => idp.people[subject] ?? {})
  const callback = provider.callback()

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url?.startsWith('/interaction/')) {
      callback(request, response)
      return
    }
    const { prompt, session, params } = await provider.interactionDetails(request, response)
    let result: object = { login: { accountId: idp.person } }
    if (prompt.name === 'consent') {
      const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
      grant.addOIDCScope('openid email profile groups')
      result = { consent: { grantId: await grant.save() } }
    }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
  }

  const idp: IdentityProvider = {
    url,
    people: {},
    person: '',
    async visit(authorizationUrl) {
      const cookies = new Map<string, string>()
      let at = authorizationUrl
      for (let hop = 0; hop < 12 && !at.startsWith(redirect); hop++) {
        const answer = await fetch(at, {
          redirect: 'manual',
          headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        })
        for (const cookie of answer.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
          cookies.set(name, value)
        }
        const next = answer.headers.get('location')
        if (!next) throw new Error(`the provider answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`)
        at = new URL(next, at).href
      }
      return Object.fromEntries(new URL(at).searchParams) as { code: string; state: string; iss: string }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return idp
}

async function createProvider(url: string, redirect: string, claimsOf: (subject: string) => object): Promise<Library> {
  const name = 'oidc-provider'
  const { Provider } = (await import(name)) as { Provider: new (issuer: string, options: object) => Library }
  return new Provider(url, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirect],
        post_logout_redirect_uris: [redirect.replace('/oidc-callback', '/login')],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    cookies: { keys: ['a-key-of-the-provider'] },
    findAccount: (_context: unknown, subject: string) => ({
      accountId: subject,
      claims: async () => ({ sub: subject, ...claimsOf(subject) }),
    }),
    claims: { openid: ['sub'], email: ['email'], profile: ['name', 'preferred_username'], groups: ['groups'] },
    pkce: { required: () => true },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    features: { devInteractions: { enabled: false } },
  })
}
