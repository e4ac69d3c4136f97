// Selects the service and the credential.
import { createClient, type Client, type ClientOptions, type Retry } from 'gatehouse-client'
import { configPath, readConfig, type Profile } from './config.ts'
import { idTokenSource, jobCredential, type IdTokenSource } from './ci.ts'
import { createCredential } from './credential.ts'
import { signedOut, usage } from './failure.ts'
import { createFetch } from './network.ts'

export interface AccessOptions {
  env: Readonly<Record<string, string | undefined>>
  flags: { url?: string | undefined; profile?: string | undefined; caFile?: string | undefined }
  version: string
  /** aborted when a signal ends the command */
  signal: AbortSignal
  onRetry(retry: Retry): void
}

export interface Target {
  /** name of the profile in use */
  name: string
  /** null when there is no profile of this name, or it is for another service */
  profile: Profile | null
  url: string | null
  caFile: string | undefined
}

export interface Access {
  readonly path: string
  target(): Promise<Target>
  /** For addresses that are not of the API, such as those of repositories: with the same proxy and certificates. */
  fetch(): Promise<typeof fetch>
  /** A client without a credential, for signing in. */
  anonymous(url: string, token?: string): Promise<Client>
  /** @throws Failure when no service is named, or nobody is signed in */
  client(): Promise<Client>
}

const DEFAULT_PROFILE = 'default'
/** Other commands wait for the one that refreshes (config.ts), and refresh themselves when it takes longer than this. */
const REFRESH_MS = 20_000

/** The address in its stored form. @throws Failure for a text that is no address of a service */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol)) throw usage(`the address is https://… or http://…, not ${text}`)
  if (url.username || url.password) throw usage('the address must not contain a user name or password')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

export function createAccess({ env, flags, version, signal, onRetry }: AccessOptions): Access {
  const path = configPath(env)

  async function target(): Promise<Target> {
    const config = await readConfig(path)
    const named = flags.profile ?? env['GATEHOUSE_PROFILE']
    const wanted = flags.url ?? (flags.profile ? undefined : env['GATEHOUSE_URL']) ?? undefined
    const url = wanted === undefined || wanted === '' ? undefined : addressOf(wanted)
    const forUrl = Object.entries(config.profiles).find(([, profile]) => profile.url === url)?.[0]
    const name = named || (url && forUrl) || config.current || DEFAULT_PROFILE
    const profile = config.profiles[name] ?? null
    if (flags.profile && !profile && url === undefined)
      throw usage(`there is no profile ${flags.profile} in ${path}: gatehouse login --profile ${flags.profile}`)
    return {
      name,
      // A credential is only for the service that it was given for.
      profile: profile && (url === undefined || profile.url === url) ? profile : null,
      url: url ?? profile?.url ?? null,
      caFile: flags.caFile ?? profile?.ca_file,
    }
  }

  async function clientWith(url: string, token: ClientOptions['token']): Promise<Client> {
    const { caFile } = await target()
    const headers = { 'user-agent': `gatehouse-cli/${version}` }
    return createClient({ url, token: token ?? null, fetch: await createFetch(env, caFile), headers, onRetry })
  }

  return {
    path,
    target,
    fetch: async () => createFetch(env, (await target()).caFile),
    anonymous: (url, token) => clientWith(url, token),
    async client() {
      const { name, profile, url } = await target()
      if (url === null) throw usage('no service is named: give --url, set GATEHOUSE_URL, or `gatehouse login`')
      const given = flags.profile ? undefined : env['GATEHOUSE_TOKEN']
      const stored = given ? () => Promise.resolve(given) : profile ? credentialOf(name, profile) : null
      const job = stored ? null : idTokenSource(env)
      const credential = stored ?? (job && credentialOfJob(job, url))
      if (!credential) throw signedOut(`not signed in to ${url}: run \`gatehouse login\`, or set GATEHOUSE_TOKEN`)
      const token = await credential()
      // `fetch` refuses a token with a line end, with an error that repeats the token.
      if (!/^[\x21-\x7e]+$/.test(token)) throw signedOut('the token has characters that no token has')
      return clientWith(url, credential)
    },
  }

  function credentialOfJob(job: IdTokenSource, url: string): () => Promise<string> {
    return jobCredential(job, async () => ({
      ...{ env, signal },
      anonymous: await clientWith(url, null),
      fetch: await createFetch(env, (await target()).caFile),
    }))
  }

  function credentialOf(name: string, profile: Profile): () => Promise<string> {
    return createCredential({
      ...{ path, name, profile, signal },
      async refresh(token) {
        const client = await clientWith(profile.url, token)
        return client.call('POST /auth/refresh', { signal: AbortSignal.any([signal, AbortSignal.timeout(REFRESH_MS)]) })
      },
    })
  }
}
