// The credential of one command: an API token, the output of a command, or a session that is renewed before it ends.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { AnswerOf, Result } from 'gatehouse-client'
import { changeConfig, readConfig, type Profile } from './config.ts'
import { signedOut } from './failure.ts'

export interface CredentialDeps {
  /** path of the configuration */
  path: string
  /** name of the profile */
  name: string
  profile: Profile
  /** ends `token_command` */
  signal: AbortSignal
  /** requests the next session from the service, with the token of the present one */
  refresh(token: string): Promise<Result<AnswerOf<'POST /auth/refresh'>>>
}

/**
 * Renewed after half of its life, so that people who return within the other half stay signed in; the service ends every session
 * twelve hours after the login.
 */
const RENEWED_AT = 0.5

/**
 * Called for each request: a command may outlive a session, and another command may have renewed it.
 * @returns a function that throws Failure (exit 4) when the session has ended or was signed out
 */
export function createCredential({ path, name, profile, signal, refresh }: CredentialDeps): () => Promise<string> {
  const { url, token_command: command } = profile
  /** Tokens that the service did not renew. They may still be valid until they end: sessions are not renewed for ever. */
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
      // After another failure the next request tries again; the request itself reports the cause.
      if (result.error.status !== 401) return old
      if (isOver) throw ended()
      final.add(old)
      return old
    })
  }

  return command === undefined ? stored : () => (printed ??= printedBy(command, signal))
}

/** @param seconds its life from now */
export function sessionOf(seconds: number): NonNullable<Profile['session']> {
  return { expires_at: new Date(Date.now() + seconds * 1000).toISOString(), life_seconds: seconds }
}

/** @throws Failure when the command fails; its output is not shown */
export async function printedBy(command: string, signal: AbortSignal): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], { timeout: 120_000, signal })
    const token = stdout.trim()
    if (token) return token
  } catch {
    throw signedOut('token_command failed; run it by hand to see why')
  }
  throw signedOut('token_command printed nothing')
}
