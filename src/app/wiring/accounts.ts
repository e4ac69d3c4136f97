// People and tokens: login, sessions, users, first-run setup, and the notifier that mails them.
import { createCodes } from '../../accounts/codes.ts'
import { createDeviceSignIn } from '../../accounts/device-sign-in.ts'
import { createJwt } from '../../accounts/jwt.ts'
import { createDirectory } from '../../accounts/ldap/directory.ts'
import { createEnrolments } from '../../accounts/machines/enrolments.ts'
import { createMachines } from '../../accounts/machines/machines.ts'
import { openAccessKey } from '../../accounts/readers/access-key.ts'
import { createFactsWriter } from '../../accounts/readers/facts-writer.ts'
import { createReaders } from '../../accounts/readers/readers.ts'
import { createMembership } from '../../accounts/ldap/membership.ts'
import { createLdapLogin } from '../../accounts/ldap/ldap-login.ts'
import { createLogin } from '../../accounts/login.ts'
import { createMfa } from '../../accounts/mfa.ts'
import { createEndSession } from '../../accounts/oidc/end-session.ts'
import { createExchange } from '../../accounts/oidc/exchange.ts'
import { createGuardedFetch } from '../../accounts/oidc/guarded-fetch.ts'
import { createOidcLogin } from '../../accounts/oidc/oidc-login.ts'
import { createProviders } from '../../accounts/oidc/providers.ts'
import { createOidcTest } from '../../accounts/oidc/test-login.ts'
import { createOwnAccount } from '../../accounts/own-account.ts'
import { createPasswordReset, RESET_MINUTES } from '../../accounts/password-reset.ts'
import { createPasswords } from '../../accounts/passwords.ts'
import { createSecondStep } from '../../accounts/second-step.ts'
import { createSessions } from '../../accounts/sessions.ts'
import { createSetup } from '../../accounts/setup.ts'
import { createSlowing } from '../../accounts/slowing.ts'
import { createTokens } from '../../accounts/tokens.ts'
import { createUsers } from '../../accounts/users.ts'
import { wait } from '../../kernel/clock.ts'
import { createHttpClient } from '../../kernel/http-client.ts'
import { createNotifier } from '../../audit/notify/notifier.ts'
import { createPreflight } from '../../accounts/preflight.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'

export type Accounts = Awaited<ReturnType<typeof createAccounts>>

/** Seeds the admin that the environment names, if there is no admin yet. */
export async function createAccounts(foundation: Foundation, { engines, vulnscan }: Gate) {
  const { env, db, clock, log, audit, paths, settings, secretBox, license, production, onError } = foundation
  const outbound = createHttpClient({
    allowPrivate: false,
    allowedHosts: env.outboundAllowedHosts,
    proxy: { http: env.httpProxy, https: env.httpsProxy, except: env.noProxy },
  })
  const notifier = createNotifier({
    db,
    clock,
    log,
    http: outbound,
    settings: settings.current,
    secret: env.webhookSecret,
    httpsOnly: production,
    allowPrivate: !production,
    allowedHosts: env.outboundAllowedHosts,
  })
  const changing = { db, audit, onError, clock }
  const passwords = createPasswords()
  const slowing = createSlowing({ clock, wait })
  const jwt = createJwt({ clock, secret: env.jwtSecretKey, algorithm: env.jwtAlgorithm })
  const directory = createDirectory({
    settings: settings.current,
    onError: (error) => log.warn({ err: error }, 'the directory gave no answer'),
  })
  const isLicensed = () => license.includes('ldap')
  const membership = createMembership({ ...changing, settings: settings.current, isLicensed, directory })
  const providerFetch = createGuardedFetch(outbound, production)
  const providers = createProviders({ clock, fetch: providerFetch, allowHttp: !production })
  const sessions = createSessions({
    ...{ ...changing, jwt, expireMinutes: env.jwtExpireMinutes },
    ...{ settings: settings.current, confirm: membership.confirm },
    endSessionUrl: createEndSession({ settings: settings.current, providers }),
  })
  const codes = createCodes({ ...changing, secretBox })
  const secondStep = createSecondStep({ ...changing, jwt, sessions, codes, slowing })
  const ldap = createLdapLogin({ ...changing, settings: settings.current, isLicensed, directory, secondStep })
  const setup = createSetup({
    ...changing,
    passwords,
    sessions,
    ...(env.setupToken ? { setupToken: env.setupToken } : {}),
    checks: createPreflight({ db, paths, env, antivirus: engines.antivirusStatus, vulnscan }),
    saveAppUrl: async (url) => {
      await settings.patch({ app_url: url }, 'system')
    },
  })
  if (env.adminUsername && env.adminPasswordHash) {
    const { reason } = await setup.seedAdmin({ username: env.adminUsername, passwordHash: env.adminPasswordHash })
    if (reason) log.info(reason)
  }
  const passwordReset = createPasswordReset({
    ...changing,
    passwords,
    deliverReset: (user, token) => notifier.sendReset(user, token, RESET_MINUTES),
  })
  const factsWriter = createFactsWriter({
    ...{ db, clock, settings: settings.current, directory: paths.access },
    privateKey: await openAccessKey(paths),
    onError,
  })
  return {
    factsWriter,
    readers: createReaders({ ...changing, changed: factsWriter.write }),
    machines: createMachines(changing),
    enrolments: createEnrolments(changing),
    outbound,
    notifier,
    sessions,
    setup,
    passwordReset,
    secondStep,
    directory,
    membership,
    oidc: createOidcLogin({ ...changing, settings: settings.current, providers, secondStep }),
    testOidc: createOidcTest({ settings: settings.current, providers, fetch: providerFetch }),
    deviceSignIn: createDeviceSignIn({ ...changing, settings: settings.current, sessions }),
    exchange: createExchange({ ...changing, settings: settings.current, providers }),
    login: createLogin({ ...changing, passwords, secondStep, slowing, ldap }),
    mfa: createMfa({ ...changing, secretBox, codes, passwords, slowing }),
    ownAccount: createOwnAccount({ ...changing, passwords, slowing }),
    users: createUsers({ ...changing, passwords }),
    tokens: createTokens(changing),
  }
}
