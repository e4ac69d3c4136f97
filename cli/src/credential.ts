// The credential of one command: an API token, what a command prints, or a session that is renewed before it ends.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { AnswerOf, Result } from 'gatehouse-client'
import { changeConfig, readConfig, type Profile } from './config.ts'
import { signedOut } from './failure.ts'

export interface CredentialDeps {
  /** of the configuration */
  path: string
  /** of the profile */
  name: string
  profile: Profile
  /** asks the service for the next session, with the token of the present one */
  refresh(token: string): Promise<Result<AnswerOf<'POST /auth/refresh'>>>
}

/**
 * When half of it is over, so that who comes back within half of its life stays signed in; the service ends every session
 * twelve hours after the login.
 */
const RENEWED_AT = 0.5

/**
 * Asked for each request: a command may outlive a session, and another command may have renewed it.
 * @returns throws Failure (exit 4) when the session has ended, or was signed out
 */
export function createCredential({ path, name, profile, refresh }: CredentialDeps): () => Promise<string> {
  const { url, token_command: command } = profile
  /** What the service did not renew. Until it ends, it may still be good: sessions are not renewed for ever. */
  const final = new Set<string>()
  let printed: Promise<string> | null = null
  const ended = () => signedOut(`the session at ${url} has ended: run \`gatehouse login\``)

  async function stored(): Promise<string> {
    const now = (await readConfig(path)).profiles[name]
    if (!now?.token || now.url !== url) throw signedOut(`signed out of ${url} meanwhile: run \`gatehouse login\``)
    const { token, session } = now
    if (!session) return token
    const leftSeconds = (Date.parse(session.expires_at) - Date.now()) / 1000
    if (leftSeconds > session.life_seconds * RENEWED_AT) return token
    if (!final.has(token)) return renewed(token, leftSeconds <= 0)
    if (leftSeconds <= 0) throw ended()
    return token
  }

  /** A refresh ends the old session, so only one process at a time asks for one; the others read what it stored. */
  function renewed(old: string, isOver: boolean): Promise<string> {
    return changeConfig(path, async (config) => {
      const now = config.profiles[name]
      if (!now?.token || now.token !== old) return now?.token ?? old
      const result = await refresh(old)
      if (result.ok) {
        now.token = result.data.access_token
        now.session = sessionOf(result.data.expires_in)
        return now.token
      }
      // What cannot be asked now is asked again with the next request; the request itself says what is wrong.
      if (result.error.status !== 401) return old
      if (isOver) throw ended()
      final.add(old)
      return old
    })
  }

  return command === undefined ? stored : () => (printed ??= printedBy(command))
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
