// token create, list, revoke.
import { listed, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need } from '../failure.ts'
import { printRows } from '../listing.ts'
import { once } from '../once.ts'
import { printToken } from '../print-token.ts'
import { spanDays } from '../spans.ts'
import { plain } from '../terminal.ts'

const ACTIONS = ['read', 'upload', 'import', 'promote', 'delete', 'review', 'manage'] as const
const ROLES = ['reader', 'uploader', 'auditor', 'maintainer', 'admin'] as const

async function create(context: Context, given: Given) {
  const client = await context.client()
  const expires = given.text('expires')
  const scopes = {
    actions: listed(given, 'action') as (typeof ACTIONS)[number][] | undefined,
    formats: listed(given, 'format'),
    distributions: listed(given, 'distribution'),
    names: listed(given, 'name'),
  }
  const body = {
    name: must(given, 'NAME'),
    role: given.text('role') ?? 'uploader',
    ...(expires === undefined ? {} : { expires_days: spanDays(expires, 'expires') }),
    ...(Object.values(scopes).some((one) => one !== undefined) ? { scopes } : {}),
  }
  const made = need(await client.call('POST /auth/api-tokens', { body, headers: once(), signal: context.signal }))
  const until = made.expires_at ? `until ${made.expires_at}` : 'without end'
  return printToken(context, made, `token ${plain(made.name)} (${made.role}), ${until}`)
}

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /auth/api-tokens', { signal: context.signal }))
  return printRows(context, answer, {
    rows: ({ tokens }) => tokens,
    head: ['ID', 'NAME', 'ROLE', 'ENDS WITH', 'BY', 'WORKS', 'LAST USED', 'UNTIL'],
    cells: (one) => [
      ...[one.token_id, one.name, one.role, `…${one.token_hint}`, one.created_by, one.active ? 'yes' : 'no'],
      ...[one.last_used ?? 'never', one.expires_at ?? '-'],
    ],
  })
}

async function revoke(context: Context, given: Given) {
  const client = await context.client()
  const answer = need(
    await client.call('DELETE /auth/api-tokens/{token_id}', {
      params: { token_id: must(given, 'ID') },
      signal: context.signal,
    }),
  )
  if (context.json) context.terminal.document(answer)
  else context.terminal.print(`revoked ${plain(answer.token_id)}`)
  return EXITS.done
}

export const tokenCommands: readonly Command[] = [
  {
    name: 'token create',
    summary: 'Make an API token and print it, once',
    arguments: [{ name: 'NAME', summary: 'what it is for' }],
    flags: [
      { name: 'role', value: 'ROLE', choices: ROLES, summary: 'what it may do (default uploader)' },
      { name: 'expires', value: 'TIME', summary: 'until then, such as 90d; without it for ever' },
      {
        name: 'action',
        value: 'ACTION',
        many: true,
        choices: ACTIONS,
        summary: 'only this; several with several flags',
      },
      { name: 'distribution', short: 'd', value: 'CODENAME', many: true, summary: 'change only this distribution' },
      { name: 'format', value: 'FORMAT', many: true, summary: 'change only packages of this format' },
      { name: 'name', value: 'PATTERN', many: true, summary: 'change only packages of this name; * is any text' },
    ],
    examples: [
      ['for the CI of one project', "token create ci-hello --expires 90d --action upload -d noble --name 'hello*'"],
    ],
    run: create,
  },
  { name: 'token list', summary: 'All API tokens, without their secrets', run: list },
  {
    name: 'token revoke',
    summary: 'End an API token immediately',
    arguments: [{ name: 'ID', summary: 'as `token list` shows it' }],
    run: revoke,
  },
]
