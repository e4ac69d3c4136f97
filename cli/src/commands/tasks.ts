// task list, show, watch, cancel.
import type { AnswerOf, Client } from 'gatehouse-client'
import { idOf, PAGES, type Command, type Context, type Given } from '../command.ts'
import { EXITS, type Exit } from '../exits.ts'
import { failed, failureOf, need } from '../failure.ts'
import { printPages, type List } from '../listing.ts'
import { plain } from '../terminal.ts'

type Page = AnswerOf<'GET /tasks'>
type Task = Page['items'][number]
type Line = AnswerOf<'GET /tasks/{id}'>['lines'][number]

const STATES = ['queued', 'running', 'cancelling', 'done', 'failed', 'cancelled'] as const

const TASKS: List<Page, Task> = {
  rows: ({ items }) => items,
  head: ['ID', 'KIND', 'ABOUT', 'STATE', 'BY', 'CREATED', 'FINISHED', 'ERROR'],
  cells: (one) => [
    ...[one.id, one.kind, one.key, one.state, one.created_by, one.created_at, one.finished_at ?? '-'],
    (one.error as { detail?: string } | null)?.detail ?? '-',
  ],
  none: () => 'there are no tasks',
}

async function list(context: Context, given: Given) {
  const client = await context.client()
  const query = { kind: given.text('kind'), state: given.text('state') as Task['state'] | undefined }
  return printPages(context, given, TASKS, async (page) =>
    need(await client.call('GET /tasks', { query: { ...query, ...page }, signal: context.signal })),
  )
}

async function show(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const task = need(await client.call('GET /tasks/{id}', { params: { id: idOf(given) }, signal }))
  if (context.json) terminal.document(task)
  else {
    for (const line of task.lines) terminal.print(textOf(line))
    terminal.print(sentenceOf(task))
  }
  return EXITS.done
}

const textOf = ({ at, level, message }: Line) => `${at} ${level.padEnd(5)} ${plain(message)}`

function sentenceOf({ id, kind, key, state, error }: Pick<Task, 'id' | 'kind' | 'key' | 'state' | 'error'>): string {
  const why = (error as { detail?: string } | null)?.detail
  return `task ${id}, ${plain([kind, key].filter(Boolean).join(' '))}: ${state}${why ? `, ${plain(why)}` : ''}`
}

async function watch(context: Context, given: Given) {
  return follow(context, await context.client(), idOf(given))
}

/** Follows a task to its end. Its lines are progress, its end is the result. @throws Failure when it cannot be followed */
export async function follow({ terminal, json, signal }: Context, client: Client, id: number): Promise<Exit> {
  for await (const result of client.events(`/tasks/${id}/stream`, { signal })) {
    if (!result.ok) {
      const { status } = result.error
      if (status !== null && status < 500 && status !== 429) throw failureOf(result.error)
      terminal.note(`${plain(result.error.detail)}; connecting again`)
    } else if (result.data.event === 'line') terminal.note(textOf(result.data.data as Line))
    else if (result.data.event === 'end') {
      const task = result.data.data as Task
      if (json) terminal.document(task)
      else terminal.print(sentenceOf(task))
      return task.state === 'done' ? EXITS.done : EXITS.failed
    }
  }
  if (signal.aborted) return EXITS.interrupted
  throw failed(`task ${id} could not be followed to its end`)
}

async function cancel(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const task = need(await client.call('POST /tasks/{id}/cancel', { params: { id: idOf(given) }, signal }))
  if (context.json) terminal.document(task)
  else terminal.print(sentenceOf(task))
  return EXITS.done
}

const ID = { name: 'ID', summary: 'number of the task, as `task list` shows it' }

export const taskCommands: readonly Command[] = [
  {
    name: 'task list',
    summary: 'Long work of the service, newest first',
    flags: [
      { name: 'kind', value: 'KIND', summary: 'only tasks of this kind, such as installability' },
      { name: 'state', value: 'STATE', choices: STATES, summary: 'only those in this state' },
      ...PAGES,
    ],
    run: list,
  },
  { name: 'task show', summary: 'A task and its last lines', arguments: [ID], run: show },
  {
    name: 'task watch',
    summary: 'Follow a task to its end; exit 1 when it fails or is cancelled',
    details: 'Its lines go to standard error, its end is the result.',
    arguments: [ID],
    run: watch,
  },
  { name: 'task cancel', summary: 'Cancel a task that waits or runs', arguments: [ID], run: cancel },
]
