// ci-login: signs a whole CI job in, where its ID token works once.
import type { Command, Context } from '../command.ts'
import { changeConfig } from '../config.ts'
import { exchange, idTokenSource } from '../ci.ts'
import { EXITS } from '../exits.ts'
import { signedOut, usage } from '../failure.ts'
import { plain } from '../terminal.ts'

async function ciLogin({ terminal, access, env, signal, json }: Context) {
  const { url, caFile } = await access.target()
  if (url === null) throw usage('no service is named: give --url, or set GATEHOUSE_URL')
  const source = idTokenSource(env)
  if (!source)
    throw signedOut(
      'this is no CI job with an ID token: GitHub needs `permissions: id-token: write`, GitLab `id_tokens: GATEHOUSE_ID_TOKEN`',
    )
  const means = { env, signal, anonymous: await access.anonymous(url), fetch: await access.fetch() }
  const { token, publisher, role, scopes, expires_at: end } = await exchange(source, means)
  await changeConfig(access.path, async (config) => {
    config.profiles['ci'] = { url, token, ...(caFile === undefined ? {} : { ca_file: caFile }) }
    config.current = 'ci'
  })
  if (json) terminal.document({ profile: 'ci', url, publisher, role, scopes, expires_at: end })
  else terminal.print(`signed in to ${url} as a job of ${plain(publisher)} (${role}), until ${end}`)
  return EXITS.done
}

export const ciCommands: readonly Command[] = [
  {
    name: 'ci-login',
    summary: 'Sign a CI job in with its ID token, for several commands',
    details:
      'A job of one command needs no login: without another sign-in, every command exchanges the ID token itself. The API token ends with the minutes of the publisher; it is in the configuration, which only this user can read.',
    run: ciLogin,
  },
]
