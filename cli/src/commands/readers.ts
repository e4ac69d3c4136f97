// dist private, public; reader list, add, remove.
import type { AnswerOf } from 'gatehouse-client'
import { idOf, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need } from '../failure.ts'
import { printRows } from '../listing.ts'
import { once } from '../once.ts'
import { plain } from '../terminal.ts'

const KINDS = ['person', 'group', 'machine', 'tag'] as const

const setPrivate = (isPrivate: boolean) => async (context: Context, given: Given) => {
  const client = await context.client()
  const params = { codename: must(given, 'CODENAME') }
  const body = { private: isPrivate }
  const answer = need(await client.call('PATCH /distributions/{codename}', { params, body, signal: context.signal }))
  const now = answer.private ? 'private: clients must sign in, and need a right (`reader add`)' : 'public'
  if (context.json) context.terminal.document(answer)
  else context.terminal.print(`${plain(answer.codename)} is ${now}`)
  return EXITS.done
}

async function readers(context: Context, given: Given) {
  const client = await context.client()
  const query = { place: given.text('CODENAME') }
  const answer = need(await client.call('GET /readers', { query, signal: context.signal }))
  return printRows(context, answer, {
    rows: (one) => one.readers,
    head: ['ID', 'DISTRIBUTION', 'KIND', 'NAME', 'BY', 'SINCE'],
    cells: (one) => [one.id, one.place, one.kind, one.name, one.created_by, one.created_at],
    none: () => 'nobody has a right to read; admins give them with `reader add`',
  })
}

async function addReader(context: Context, given: Given) {
  const client = await context.client()
  const body = {
    place: must(given, 'CODENAME'),
    kind: must(given, 'KIND') as AnswerOf<'GET /readers/{id}'>['kind'],
    name: must(given, 'NAME'),
  }
  const made = need(await client.call('POST /readers', { body, headers: once(), signal: context.signal }))
  if (context.json) context.terminal.document(made)
  else context.terminal.print(`right ${made.id}: the ${made.kind} ${plain(made.name)} may read ${plain(made.place)}`)
  return EXITS.done
}

async function removeReader(context: Context, given: Given) {
  const client = await context.client()
  const answer = need(
    await client.call('DELETE /readers/{id}', { params: { id: idOf(given) }, signal: context.signal }),
  )
  if (context.json) context.terminal.document(answer)
  else context.terminal.print(`removed right ${answer.id}`)
  return EXITS.done
}

const ID = { name: 'ID', summary: 'as the list shows it' }
const CODENAME = { name: 'CODENAME', summary: 'the distribution' }

export const readerCommands: readonly Command[] = [
  {
    name: 'dist private',
    summary: 'Let only clients with a right read a distribution',
    arguments: [CODENAME],
    run: setPrivate(true),
  },
  { name: 'dist public', summary: 'Let everybody read a distribution', arguments: [CODENAME], run: setPrivate(false) },
  {
    name: 'reader list',
    summary: 'Who may read private distributions',
    arguments: [{ name: 'CODENAME', summary: 'only this distribution', optional: true }],
    run: readers,
  },
  {
    name: 'reader add',
    summary: 'Let a person, a group, a machine or all machines with a tag read a private distribution',
    arguments: [
      CODENAME,
      { name: 'KIND', summary: 'who', choices: KINDS },
      { name: 'NAME', summary: 'user name, group of LDAP or OIDC, machine, or tag' },
    ],
    examples: [['every web server', 'reader add noble tag web']],
    run: addReader,
  },
  { name: 'reader remove', summary: 'Take a right to read away', arguments: [ID], run: removeReader },
]
