// Which service is meant, and with which credential.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createClient, type Client, type Retry } from 'gatehouse-client'
import { changeConfig, configPath, readConfig, type Profile } from './config.ts'
import { failureOf, signedOut, usage } from './failure.ts'
import { createFetch } from './network.ts'

export interface AccessOptions {
  env: Readonly<Record<string, string | undefined>>
  flags: { url?: string | undefined; profile?: string | undefined; caFile?: string | undefined }
  version: string
  onRetry(retry: Retry): void
}

export interface Target {
  /** name of the profile that is read and written */
  name: string
  /** null while there is none of that name, or it is for another service */
  profile: Profile | null
  url: string | null
  caFile: string | undefined
}

export interface Access {
  readonly path: string
  target(): Promise<Target>
  /** A client without a credential, for signing in. */
  anonymous(url: string, token?: string): Promise<Client>
  /** @throws Failure when no service is named, or nobody signed in */
  client(): Promise<Client>
}

const DEFAULT_PROFILE = 'default'

/** The address as it is stored. @throws Failure for what is no address of a service */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol)) throw usage(`the address is https://… or http://…, not ${text}`)
  if (url.username || url.password) throw usage('the address must not contain a user name or password')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

export function createAccess({ env, flags, version, onRetry }: AccessOptions): Access {
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
      // A credential is for the service that it was given for, and for no other.
      profile: profile && (url === undefined || profile.url === url) ? profile : null,
      url: url ?? profile?.url ?? null,
      caFile: flags.caFile ?? profile?.ca_file,
    }
  }

  async function anonymous(url: string, token?: string): Promise<Client> {
    const { caFile } = await target()
    const headers = { 'user-agent': `gatehouse-cli/${version}` }
    return createClient({ url, token: token ?? null, fetch: await createFetch(env, caFile), headers, onRetry })
  }

  return {
    path,
    target,
    anonymous,
    async client() {
      const { name, profile, url } = await target()
      if (url === null) throw usage('no service is named: give --url, set GATEHOUSE_URL, or `gatehouse login`')
      const given = flags.profile ? undefined : env['GATEHOUSE_TOKEN']
      const token = given ? given : profile ? await tokenOf(name, profile) : null
      if (!token) throw signedOut(`not signed in to ${url}: run \`gatehouse login\`, or set GATEHOUSE_TOKEN`)
      // A token with a line end in it is refused by `fetch` with a text that repeats it.
      if (!/^[\x21-\x7e]+$/.test(token)) throw signedOut('the token has characters that no token has')
      return anonymous(url, token)
    },
  }

  async function tokenOf(name: string, profile: Profile): Promise<string | null> {
    if (profile.token_command) return printedBy(profile.token_command)
    const { token, session } = profile
    if (!token || !session) return token ?? null
    const leftSeconds = (Date.parse(session.expires_at) - Date.now()) / 1000
    if (leftSeconds > session.life_seconds * 0.2) return token
    if (leftSeconds <= 0) throw signedOut(`the session at ${profile.url} has ended: gatehouse login`)
    return renew(name, token)
  }

  /** A refresh ends the old session, so only one process at a time asks for one; the others read what it stored. */
  async function renew(name: string, old: string): Promise<string> {
    return changeConfig(path, async (config) => {
      const profile = config.profiles[name]
      if (!profile?.token) throw signedOut('signed out meanwhile: gatehouse login')
      if (profile.token !== old) return profile.token
      const client = await anonymous(profile.url, old)
      const result = await client.call('POST /auth/refresh')
      if (!result.ok) throw failureOf(result.error)
      const { access_token: token, expires_in: seconds } = result.data
      profile.token = token
      profile.session = sessionOf(seconds)
      return token
    })
  }
}

/** @param seconds how long it lives from now */
export function sessionOf(seconds: number): NonNullable<Profile['session']> {
  return { expires_at: new Date(Date.now() + seconds * 1000).toISOString(), life_seconds: seconds }
}

/** @throws Failure when the command fails; what it printed is not shown */
export async function printedBy(command: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], { timeout: 120_000 })
    const token = stdout.trim()
    if (token) return token
  } catch {
    throw signedOut('token_command failed; run it by hand to see why')
  }
  throw signedOut('token_command printed nothing')
}
