// Logout at the provider (OpenID Connect RP-Initiated Logout 1.0): where the browser goes after a logout here.
import * as openid from 'openid-client'
import { appPage } from '../../domain/app-page.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Providers } from './providers.ts'

/**
 * @returns a function whose answer is null if the settings do not ask for it, the provider announces no valid
 *   `end_session_endpoint`, or it does not answer; the session here has ended in any case
 */
export function createEndSession(deps: {
  settings: () => Pick<Settings, 'oidc' | 'app_url'>
  providers: Providers
}): () => Promise<string | null> {
  return async () => {
    const { oidc, app_url } = deps.settings()
    if (!oidc.enabled || !oidc.logout_at_provider) return null
    try {
      const config = await deps.providers.forLogin(oidc)
      if (config.serverMetadata().end_session_endpoint === undefined) return null
      // The provider may ask the person (section 2), because ID tokens are not kept for an `id_token_hint`.
      return openid.buildEndSessionUrl(config, { post_logout_redirect_uri: appPage(app_url, '/login') }).href
    } catch {
      // The provider does not answer, or its endpoint is not a web address.
      return null
    }
  }
}
