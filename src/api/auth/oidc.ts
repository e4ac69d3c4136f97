// The endpoints below `/auth/oidc`. Each handler is one call to `accounts`.
import type { Exchange } from '../../accounts/oidc/exchange.ts'
import type { OidcLogin } from '../../accounts/oidc/oidc-login.ts'
import {
  getAuthOidcPublicConfig,
  postAuthOidcAuthorize,
  postAuthOidcCallback,
  postAuthOidcExchange,
  postAuthOidcTestDiscovery,
} from './oidc.contract.ts'
import { handle, type Route } from '../http/route.ts'

export interface OidcDeps {
  oidc: OidcLogin
  exchange: Exchange
}

export function oidcRoutes({ oidc, exchange }: OidcDeps): Route[] {
  return [
    handle(getAuthOidcPublicConfig, async () => oidc.publicConfig()),
    handle(postAuthOidcAuthorize, ({ body }) => oidc.authorize(body)),
    handle(postAuthOidcCallback, ({ body, origin }) => oidc.callback(body, origin)),
    handle(postAuthOidcTestDiscovery, ({ body }) => oidc.testDiscovery(body.discovery_url)),
    handle(postAuthOidcExchange, ({ body, origin }) => exchange.exchange(body.token, origin)),
  ]
}
