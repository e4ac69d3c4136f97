// login, logout, whoami, status.
import type { AnswerOf, Client } from 'gatehouse-client'
import { addressOf } from '../access.ts'
import type { Command, Context, Given } from '../command.ts'
import { changeConfig, type Config, type Profile } from '../config.ts'
import { printedBy, sessionOf } from '../credential.ts'
import { deviceLogin } from '../device-login.ts'
import { EXITS } from '../exits.ts'
import { failed, need, signedOut, usage } from '../failure.ts'
import { ask, confirm } from '../prompt.ts'
import { plain } from '../terminal.ts'

async function login(context: Context, given: Given) {
  const { terminal, access, signal } = context
  const { url: known, name, profile, caFile } = await access.target()
  const url = addressOf(known ?? (await ask(terminal, 'address of the service', '--url')))
  const host = new URL(url)
  if (host.protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(host.hostname))
    terminal.complain(`warning: ${url} is not encrypted; passwords and tokens can be read on the way`)
  const anonymous = await access.anonymous(url)
  const tokenCommand = given.text('token-command')
  let made: Profile
  if (tokenCommand !== undefined) {
    need(await (await access.anonymous(url, await printedBy(tokenCommand, signal))).call('GET /auth/me', { signal }))
    made = { url, token_command: tokenCommand }
  } else {
    const token = given.is('with-token') ? await tokenFrom(context) : null
    const session =
      token !== null
        ? null
        : given.is('device')
          ? await deviceLogin(terminal, anonymous, signal)
          : await passwordLogin(context, given, anonymous)
    await mayStore(context, given)
    made = {
      url,
      token: token ?? session?.access_token ?? '',
      ...(session ? { session: sessionOf(session.expires_in ?? 3600) } : {}),
    }
    need(await (await access.anonymous(url, made.token)).call('GET /auth/me', { signal }))
  }
  if (caFile !== undefined) made.ca_file = caFile
  const token = made.token ?? (await printedBy(tokenCommand ?? '', signal))
  const me = need(await (await access.anonymous(url, token)).call('GET /auth/me', { signal }))
  made.username = me.username
  const stored = await changeConfig(access.path, async (config) =>
    store(config, made, given.text('profile') ?? (profile ? name : null)),
  )
  if (context.json) terminal.document({ profile: stored, url, username: me.username, role: me.role })
  else
    terminal.print(
      `signed in to ${url} as ${plain(me.username)} (${me.role})${stored === 'default' ? '' : `, profile ${stored}`}`,
    )
  return EXITS.done
}

/** A second service gets a separate profile, named after its host. */
function store(config: Config, made: Profile, wanted: string | null): string {
  const taken = config.profiles['default']
  const name = wanted ?? (taken && taken.url !== made.url ? new URL(made.url).host : 'default')
  config.profiles[name] = made
  config.current = name
  return name
}

async function tokenFrom({ terminal }: Context): Promise<string> {
  if (terminal.canAsk) return (await ask(terminal, 'API token (svc_…)', 'the token on standard input', true)).trim()
  let text = ''
  for await (const chunk of terminal.input) {
    text += String(chunk)
    if (text.length > 10_000) break
  }
  const token = text.trim()
  if (!/^[\x21-\x7e]{10,4096}$/.test(token)) throw usage('standard input holds no token')
  return token
}

async function passwordLogin(
  { terminal, signal }: Context,
  given: Given,
  client: Client,
): Promise<AnswerOf<'POST /auth/token'>> {
  const username = given.text('username') ?? (await ask(terminal, 'user name', '--username, or --with-token'))
  const password = await ask(terminal, 'password', '--with-token and an API token on standard input', true)
  const first = need(await client.call('POST /auth/token', { body: { username, password }, signal }))
  if (!first.mfa_required) return first
  const code = await ask(terminal, 'code of your authenticator app, or a recovery code', '--with-token', true)
  return need(
    await client.call('POST /auth/mfa/authenticate', {
      body: { mfa_token: first.mfa_token ?? '', totp_code: code.trim() },
      signal,
    }),
  )
}

async function mayStore({ terminal, access }: Context, given: Given): Promise<void> {
  if (given.is('plain-text')) return
  const question = `store the credential in plain text in ${access.path}, which only you can read? (--token-command asks a password manager instead)`
  if (!(await confirm(terminal, question, '--plain-text, or --token-command')))
    throw failed('not stored; you are not signed in')
}

async function logout({ access, terminal, json, signal }: Context) {
  const { name, profile, url } = await access.target()
  if (!profile) throw signedOut(url ? `not signed in to ${url}` : 'not signed in')
  if (profile.session) {
    // A session that has already ended need not be ended.
    const result = await (await access.anonymous(profile.url, profile.token)).call('POST /auth/logout', { signal })
    if (!result.ok && result.error.status !== 401)
      terminal.complain(`the session could not be ended at the server: ${plain(result.error.detail)}`)
  }
  await changeConfig(access.path, async (config) => {
    config.profiles = Object.fromEntries(Object.entries(config.profiles).filter(([one]) => one !== name))
    if (config.current === name) {
      const [next] = Object.keys(config.profiles)
      if (next === undefined) delete config.current
      else config.current = next
    }
  })
  if (json) terminal.document({ status: 'signed_out', url: profile.url })
  else terminal.print(`signed out of ${profile.url}`)
  if (!profile.session && profile.token) terminal.note('the API token still works: `gatehouse token revoke` ends it')
  return EXITS.done
}

async function whoami(context: Context) {
  const client = await context.client()
  const me = need(await client.call('GET /auth/me', { signal: context.signal }))
  if (context.json) context.terminal.document(me)
  else {
    context.terminal.print(`${plain(me.username)} (${me.role}) at ${client.url}`)
    for (const [key, values] of Object.entries(me.scopes ?? {}))
      context.terminal.print(`only ${key}: ${(values as string[]).map(plain).join(', ')}`)
  }
  return EXITS.done
}

async function status(context: Context) {
  const { terminal, access, version, json, signal } = context
  const { url } = await access.target()
  if (url === null) throw usage('no service is named: give --url, set GATEHOUSE_URL, or `gatehouse login`')
  const anonymous = await access.anonymous(url)
  const answer = await anonymous.call('GET /health', { signal })
  const health = answer.ok ? answer.data : (answer.error.body as unknown as AnswerOf<'GET /health'>)
  if (!answer.ok && typeof health.status !== 'string') need(answer)
  if (json) terminal.document(health)
  else {
    terminal.print(`${url}: ${health.status}, version ${plain(health.version)}`)
    const wrong = [...Object.entries(health.checks.critical), ...Object.entries(health.checks.non_critical)].filter(
      ([, { ok }]) => !ok,
    )
    for (const [name, { error }] of wrong)
      terminal.print(`  ${plain(name)}: not ok${typeof error === 'string' ? `, ${plain(error)}` : ''}`)
  }
  // A development build has no version number.
  if (/^\d/.test(health.version) && health.version !== version)
    terminal.note(`this command is version ${version}; the one of the service: curl -fsSO ${url}/cli/gatehouse.mjs`)
  return health.status === 'unhealthy' ? EXITS.failed : EXITS.done
}

export const sessionCommands: readonly Command[] = [
  {
    name: 'login',
    summary: 'Sign in to a service and remember it',
    details:
      'With user name, password and the code of a second factor, with --device in a browser, or with an API token on standard input. In CI no login is needed: set GATEHOUSE_URL and GATEHOUSE_TOKEN.',
    flags: [
      { name: 'username', value: 'NAME', summary: 'user name; the password is asked for' },
      { name: 'device', summary: 'approve it in the console, in the browser of any machine: for single sign-on' },
      { name: 'with-token', summary: 'read an API token from standard input' },
      {
        name: 'token-command',
        value: 'COMMAND',
        summary: 'keep this shell command, which prints an API token, instead of a credential',
      },
      { name: 'plain-text', summary: 'store the credential in plain text without asking' },
    ],
    examples: [
      ['as a person', 'login --url https://repo.example.org'],
      ['with single sign-on', 'login --url https://repo.example.org --device'],
      [
        'with a token from a password manager',
        "login --url https://repo.example.org --token-command 'pass show gatehouse'",
      ],
      ['with a token from a file', 'login --url https://repo.example.org --with-token --plain-text < token'],
    ],
    run: login,
  },
  { name: 'logout', summary: 'End the session and forget the credential', run: logout },
  { name: 'whoami', summary: 'Who is signed in, with which role', run: whoami },
  { name: 'status', summary: 'Whether the service is healthy; exit 1 when it is not', run: status },
]
