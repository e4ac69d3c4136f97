// Login at an OpenID Connect provider: authorization code with PKCE, state and nonce. The state of a waiting login is in the
// database, so that it may begin at one replica and end at another.
import * as openid from 'openid-client'
import { sql } from 'kysely'
import { appPage } from '../../domain/app-page.ts'
import type { Origin } from '../../domain/audit.ts'
import { invalidField, isProblem, Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { randomToken, sha256Hex } from '../../kernel/crypto.ts'
import { change, type ChangeDeps, type Note } from '../change.ts'
import { adoptAccount, type ExternalAccount, type SignInRefusal } from '../external-account.ts'
import type { LoginAnswer, SecondStep } from '../second-step.ts'
import { groupsOf, mapsRoles, roleOf, textOf } from './claims.ts'
import { exchangeCode, failed, type CallbackInput } from './code-grant.ts'
import { endpointsOf, type Providers } from './providers.ts'

/** How long a person may take at the provider. */
const WAITING_MS = 10 * 60_000
/** Expired rows removed with each login. */
const CLEANED_AT_ONCE = 100
export interface OidcLogin {
  publicConfig(): { enabled: boolean; provider_name?: string }
  /**
   * Begins a login. The client keeps `state` and the verifier of the challenge.
   * @throws Problem `oidc_disabled`, `validation_error` (a redirect that is not in the settings), `upstream_error`
   */
  authorize(wanted: {
    code_challenge: string
    state: string
    redirect_uri?: string
  }): Promise<{ authorization_url: string; redirect_uri: string }>
  /**
   * Ends a login with the parameters that the provider sent back with the browser.
   * @throws Problem `oidc_disabled`, `unauthorized`, `forbidden` (no account, or a disabled one), `account_conflict`, `upstream_error`
   */
  callback(given: CallbackInput, origin: Origin): Promise<LoginAnswer>
  /** @throws Problem `validation_error`, `forbidden_target`, `upstream_error` */
  testDiscovery(url: string): Promise<DiscoveryAnswer>
}

export interface DiscoveryAnswer {
  ok: true
  issuer: string
  auth_ep: string
  token_ep: string
  jwks_uri: string
}

export function createOidcLogin(
  deps: ChangeDeps & { clock: Clock; settings: () => Settings; providers: Providers; secondStep: SecondStep },
): OidcLogin {
  const { db, audit, clock, providers, secondStep } = deps

  function enabled(): Settings['oidc'] {
    const { oidc } = deps.settings()
    if (!isOn(oidc)) throw new Problem('oidc_disabled', 'login at an identity provider is not enabled here')
    return oidc
  }

  /** Removes and returns the login that waits for this state and verifier; a second call finds none. */
  async function take({ state, code_verifier, redirect_uri }: CallbackInput) {
    return db
      .deleteFrom('oidc_logins')
      .where('state_hash', '=', waitingKey(state, await openid.calculatePKCECodeChallenge(code_verifier)))
      .where('expires_at', '>', clock.now())
      .where((is) => (redirect_uri === undefined ? is.lit(true) : is('redirect_uri', '=', redirect_uri)))
      .returning(['nonce', 'redirect_uri'])
      .executeTakeFirst()
  }

  async function admit(account: ExternalAccount, origin: Origin): Promise<LoginAnswer | SignInRefusal> {
    return change(deps, account.username, origin, async (tx, note) => {
      const adopted = await adoptAccount(tx, account, clock.now(), note)
      if ('refused' in adopted) return adopted
      // The account keeps its name even if the provider has another one by now.
      const named: Note = (action, detail, extra, by = adopted.username) => note(action, detail, extra, by)
      return secondStep.admit(adopted, tx, named, {
        action: 'OIDC_LOGIN',
        detail: `logged in as ${account.externalId}`,
      })
    })
  }

  async function login(oidc: Settings['oidc'], given: CallbackInput, origin: Origin): Promise<LoginAnswer> {
    const waiting = await take(given)
    if (!waiting) throw failed('no login waits for this state and verifier')
    const { externalId, claims } = await exchangeCode(providers, oidc, given, waiting)
    const account: ExternalAccount = {
      source: 'oidc',
      externalId,
      username: textOf(claims, oidc.claim_username),
      email: textOf(claims, oidc.claim_email),
      fullName: textOf(claims, oidc.claim_fullname),
      role: roleOf(claims, oidc),
      groups: groupsOf(claims, oidc),
      keepsRole: !mapsRoles(oidc),
      mayCreate: oidc.auto_provision,
    }
    let answer = await admit(account, origin)
    // Two first logins of one person: the second finds the account that the first made.
    if ('refused' in answer && answer.refused === 'changed meanwhile') answer = await admit(account, origin)
    if (!('refused' in answer)) return answer
    const who = { attempted: account.username.slice(0, 64), external_id: externalId.slice(0, 500) }
    if (answer.conflict)
      throw new Problem(
        'account_conflict',
        'an account of another kind has this name; an admin must rename or remove it',
        {},
        { cause: who },
      )
    throw new Problem('forbidden', `this person may not log in here: ${answer.refused}`, {}, { cause: who })
  }

  return {
    publicConfig() {
      const { oidc } = deps.settings()
      return isOn(oidc) ? { enabled: true, provider_name: oidc.provider_name } : { enabled: false }
    },

    async authorize({ code_challenge, state, redirect_uri }) {
      const oidc = enabled()
      const settings = deps.settings()
      const redirect = redirectOf(settings)
      if (redirect_uri !== undefined && redirect_uri !== redirect)
        throw invalidField('redirect_uri', `must be ${redirect}, as in the settings`)
      const config = await providers.forLogin(oidc)
      const now = clock.now()
      const nonce = randomToken(32)
      const waiting = { nonce, redirect_uri: redirect, expires_at: new Date(now.getTime() + WAITING_MS) }
      await db
        .insertInto('oidc_logins')
        .values({ state_hash: waitingKey(state, code_challenge), ...waiting })
        .onConflict((conflict) => conflict.column('state_hash').doUpdateSet(waiting))
        .execute()
      await sql`delete from oidc_logins where state_hash in (select state_hash from oidc_logins where expires_at <= ${now}
        limit ${CLEANED_AT_ONCE} for update skip locked)`.execute(db)
      const authorization_url = loginAddress(config, settings, { state, nonce, code_challenge })
      return { authorization_url, redirect_uri: redirect }
    },

    async callback(given, origin) {
      const oidc = enabled()
      try {
        return await login(oidc, given, origin)
      } catch (error) {
        if (!isProblem(error)) throw error
        const who = (error.cause ?? {}) as { attempted?: string; external_id?: string }
        await audit.record({
          action: 'OIDC_LOGIN',
          result: 'FAILURE',
          user: who.attempted?.replace(/[^\P{C}]/gu, '?') || null,
          detail: typeof error.cause === 'string' ? error.cause : error.detail,
          outcome: error.code,
          ip: origin.ip,
          requestId: origin.requestId,
          ...(who.external_id === undefined ? {} : { extra: { external_id: who.external_id } }),
        })
        throw error
      }
    },

    async testDiscovery(url) {
      if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
        throw invalidField('discovery_url', 'must be an address that begins with http:// or https://')
      const { issuer, authorization_endpoint, token_endpoint, jwks_uri } = endpointsOf(await providers.discover(url))
      return { ok: true, issuer, auth_ep: authorization_endpoint, token_ep: token_endpoint, jwks_uri }
    },
  }
}

/** The address to which a browser goes for a login. */
export function loginAddress(
  config: openid.Configuration,
  settings: Pick<Settings, 'app_url' | 'oidc'>,
  login: { state: string; nonce: string; code_challenge: string },
): string {
  const wanted = { redirect_uri: redirectOf(settings), scope: settings.oidc.scopes, code_challenge_method: 'S256' }
  return openid.buildAuthorizationUrl(config, { ...wanted, ...login }).href
}

/** Where the provider sends the browser back. */
export function redirectOf({ app_url, oidc }: Pick<Settings, 'app_url' | 'oidc'>): string {
  return oidc.redirect_uri || appPage(app_url, '/oidc-callback')
}

const isOn = ({ enabled, discovery_url, client_id }: Settings['oidc']) =>
  enabled && discovery_url !== '' && client_id !== ''

/** Made of state and challenge, so that the state of a login alone, without the verifier, does not take it. */
const waitingKey = (state: string, challenge: string) => sha256Hex(`${state}\n${challenge}`)
