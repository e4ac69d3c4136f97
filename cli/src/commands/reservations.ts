// reserve list, add, delete; group list, delete.
import { FLAGS, idOf, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need } from '../failure.ts'
import { printRows } from '../listing.ts'
import { once } from '../once.ts'
import { confirm } from '../prompt.ts'
import { sizeText } from '../spans.ts'
import { plain } from '../terminal.ts'

const FORMATS = ['deb', 'rpm', 'apk'] as const

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /import/reservations', { signal: context.signal }))
  return printRows(context, answer, {
    rows: ({ reservations }) => reservations,
    head: ['ID', 'NAMES', 'FORMAT', 'FOR', 'BY', 'SINCE'],
    cells: (one) => [
      ...[one.id, one.pattern, one.format ?? 'all', one.source_id === null ? 'uploads' : `source ${one.source_id}`],
      ...[one.created_by, one.created_at],
    ],
    none: () => 'no names are reserved',
  })
}

async function add(context: Context, given: Given) {
  const client = await context.client()
  const body = {
    pattern: must(given, 'NAME'),
    format: given.text('format') as (typeof FORMATS)[number] | undefined,
    source_id: given.number('source', 1, 2_147_483_647),
  }
  const made = need(await client.call('POST /import/reservations', { body, headers: once(), signal: context.signal }))
  if (context.json) context.terminal.document(made)
  else context.terminal.print(`reservation ${made.id}: ${plain(made.pattern)} is for ${reservedFor(made)}`)
  return EXITS.done
}

const reservedFor = ({ source_id: source }: { source_id: number | null }) =>
  source === null ? 'uploads' : `source ${source}`

async function remove(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const id = idOf(given)
  const question = `delete reservation ${id}? Any source may bring packages of these names then.`
  if (!given.is('yes') && !(await confirm(terminal, question, '--yes'))) throw failed('nothing was deleted')
  const answer = need(await client.call('DELETE /import/reservations/{id}', { params: { id }, signal }))
  if (context.json) terminal.document(answer)
  else terminal.print(`deleted reservation ${answer.id}`)
  return EXITS.done
}

async function groups(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /import/groups', { signal: context.signal }))
  return printRows(context, answer, {
    rows: (one) => one.groups,
    head: ['NAME', 'PACKAGES', 'SIZE', 'IMPORTED'],
    cells: (one) => [one.name, one.package_count, sizeText(one.total_size_bytes), one.imported_at],
    none: () => 'there are no import groups',
  })
}

async function deleteGroup(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const name = must(given, 'NAME')
  const question = `delete every package of the import group ${name}?`
  if (!given.is('yes') && !(await confirm(terminal, question, '--yes'))) throw failed('nothing was deleted')
  const answer = need(await client.call('DELETE /import/groups/{name}', { params: { name }, signal }))
  if (context.json) terminal.document(answer)
  else terminal.print(`deleted ${answer.deleted} packages of ${plain(answer.name)}`)
  return EXITS.done
}

export const reservationCommands: readonly Command[] = [
  { name: 'reserve list', summary: 'Names of packages that only uploads, or one source, may bring', run: list },
  {
    name: 'reserve add',
    summary: 'Reserve names of packages for uploads, or for one source',
    arguments: [{ name: 'NAME', summary: 'a name, or a pattern of names such as acme-*' }],
    flags: [
      { name: 'format', value: 'FORMAT', choices: FORMATS, summary: 'only of this format' },
      { name: 'source', value: 'ID', summary: 'for this source instead of uploads' },
    ],
    examples: [['nobody else may bring our names', "reserve add 'acme-*'"]],
    run: add,
  },
  {
    name: 'reserve delete',
    summary: 'End a reservation',
    arguments: [{ name: 'ID', summary: 'as `reserve list` shows it' }],
    flags: [FLAGS.yes],
    run: remove,
  },
  { name: 'group list', summary: 'Packages that were imported together, with what they need', run: groups },
  {
    name: 'group delete',
    summary: 'Delete every package of an import group',
    arguments: [{ name: 'NAME', summary: 'as `group list` shows it' }],
    flags: [FLAGS.yes],
    run: deleteGroup,
  },
]
