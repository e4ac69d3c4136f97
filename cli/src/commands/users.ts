// user list, create, change, enable, disable, reset-password, reset-mfa, delete.
import type { AnswerOf } from 'gatehouse-client'
import { FLAGS, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need, usage } from '../failure.ts'
import { firstLine } from '../input.ts'
import { printRows } from '../listing.ts'
import { once } from '../once.ts'
import { ask, confirm } from '../prompt.ts'
import { plain } from '../terminal.ts'

const ROLES = ['reader', 'uploader', 'auditor', 'maintainer', 'admin'] as const

type User = AnswerOf<'POST /auth/users'>

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /auth/users', { signal: context.signal }))
  return printRows(context, answer, {
    rows: ({ users }) => users,
    head: ['NAME', 'ROLE', 'FULL NAME', 'MAIL', 'FROM', 'ACTIVE', 'SECOND FACTOR', 'LAST SIGN-IN'],
    cells: (one) => [
      ...[one.username, one.role, one.full_name, one.email, one.auth_source, one.active ? 'yes' : 'no'],
      ...[one.mfa_enabled ? 'yes' : 'no', one.last_login ?? 'never'],
    ],
  })
}

async function show(context: Context, given: Given) {
  const { terminal } = context
  const client = await context.client()
  const params = { username: must(given, 'NAME') }
  const found = need(await client.call('GET /auth/users/{username}', { params, signal: context.signal }))
  if (context.json) terminal.document(found)
  else
    for (const [key, value] of Object.entries(found))
      terminal.print(`${key}\t${value === null ? '-' : plain(String(value))}`)
  return EXITS.done
}

async function create(context: Context, given: Given) {
  const client = await context.client()
  const password = await newPassword(context)
  const body = { username: must(given, 'NAME'), password, role: must(given, 'role'), ...about(given) }
  const made = need(await client.call('POST /auth/users', { body, headers: once(), signal: context.signal }))
  return print(context, made, 'created')
}

const about = (given: Given) => ({ full_name: given.text('full-name'), email: given.text('email') })

/** Asked twice on a terminal; otherwise the first line of standard input. There is no flag, because flags end in logs. */
async function newPassword({ terminal }: Context): Promise<string> {
  if (!terminal.canAsk) {
    const password = await firstLine(terminal.input)
    if (password === '') throw usage('there is no terminal to ask for the password: write it to standard input')
    return password
  }
  const password = await ask(terminal, 'password', 'it on standard input', true)
  if ((await ask(terminal, 'the same again', 'it on standard input', true)) !== password)
    throw usage('the two passwords are not the same')
  return password
}

async function change(context: Context, given: Given, more: { active?: boolean }, done: string) {
  const body = { role: given.text('role'), ...about(given), ...more }
  if (Object.values(body).every((one) => one === undefined))
    throw usage('nothing to change: give --role, --full-name or --email')
  const client = await context.client()
  const params = { username: must(given, 'NAME') }
  const changed = need(await client.call('PATCH /auth/users/{username}', { params, body, signal: context.signal }))
  return print(context, changed, done)
}

function print({ terminal, json }: Context, user: User, done: string) {
  if (json) terminal.document(user)
  else terminal.print(`${plain(user.username)} (${user.role}): ${done}`)
  return EXITS.done
}

async function resetPassword(context: Context, given: Given) {
  const client = await context.client()
  const params = { username: must(given, 'NAME') }
  const body = { new_password: await newPassword(context) }
  const answer = need(
    await client.call('POST /auth/users/{username}/reset-password', { params, body, signal: context.signal }),
  )
  return report(context, answer)
}

async function resetMfa(context: Context, given: Given) {
  const params = await agreed(context, given, 'remove the second factor of')
  const client = await context.client()
  return report(
    context,
    need(await client.call('DELETE /auth/users/{username}/mfa', { params, signal: context.signal })),
  )
}

async function remove(context: Context, given: Given) {
  const params = await agreed(context, given, 'delete, and revoke the API tokens of,')
  const client = await context.client()
  const answer = need(await client.call('DELETE /auth/users/{username}', { params, signal: context.signal }))
  return report(context, { ...answer, message: `deleted ${answer.username}` })
}

async function agreed({ terminal }: Context, given: Given, what: string): Promise<{ username: string }> {
  const username = must(given, 'NAME')
  if (!given.is('yes') && !(await confirm(terminal, `${what} ${username}?`, '--yes')))
    throw failed('nothing was changed')
  return { username }
}

function report({ terminal, json }: Context, answer: { message: string }) {
  if (json) terminal.document(answer)
  else terminal.print(plain(answer.message))
  return EXITS.done
}

const NAME = { name: 'NAME', summary: 'user name' }
const ROLE = { name: 'role', value: 'ROLE', choices: ROLES, summary: 'what the person may do' }
const ABOUT = [
  { name: 'full-name', value: 'TEXT', summary: 'as colleagues write it' },
  { name: 'email', value: 'ADDRESS', summary: 'where mail goes' },
]
const PASSWORD = 'The password is asked for, or read from standard input.'

export const userCommands: readonly Command[] = [
  { name: 'user list', summary: 'Everyone with an account', run: list },
  { name: 'user show', summary: 'One account', arguments: [NAME], run: show },
  {
    name: 'user create',
    summary: 'Create an account',
    details: PASSWORD,
    arguments: [NAME],
    flags: [{ ...ROLE, required: true }, ...ABOUT],
    examples: [['from a script', 'user create ada --role maintainer < password-file']],
    run: create,
  },
  {
    name: 'user change',
    summary: 'Change the role, name or mail address of an account',
    arguments: [NAME],
    flags: [ROLE, ...ABOUT],
    run: (context, given) => change(context, given, {}, 'changed'),
  },
  {
    name: 'user disable',
    summary: 'End the sessions of an account, and let nobody sign in with it',
    arguments: [NAME],
    run: (context, given) => change(context, given, { active: false }, 'disabled'),
  },
  {
    name: 'user enable',
    summary: 'Let a disabled account sign in again',
    arguments: [NAME],
    run: (context, given) => change(context, given, { active: true }, 'enabled'),
  },
  {
    name: 'user reset-password',
    summary: 'Set the password of an account; ends its sessions',
    details: PASSWORD,
    arguments: [NAME],
    run: resetPassword,
  },
  {
    name: 'user reset-mfa',
    summary: 'Remove the second factor of an account, for a person who lost it',
    arguments: [NAME],
    flags: [FLAGS.yes],
    run: resetMfa,
  },
  {
    name: 'user delete',
    summary: 'Delete an account; revokes the API tokens it made',
    arguments: [NAME],
    flags: [FLAGS.yes],
    run: remove,
  },
]
