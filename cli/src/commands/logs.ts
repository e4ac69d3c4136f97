// logs.
import type { AnswerOf, Problem } from 'gatehouse-client'
import type { Command, Context, Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, failureOf, need } from '../failure.ts'
import { plain } from '../terminal.ts'

type Entry = AnswerOf<'GET /logs'>['items'][number]
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

async function logs(context: Context, given: Given) {
  const { terminal, json, signal } = context
  const client = await context.client()
  const query = { level: given.text('level') as Entry['level'] | undefined, q: given.text('text') }
  const page = need(
    await client.call('GET /logs', {
      query: { ...query, since: given.text('since'), limit: given.number('limit', 1, 1000) },
      signal,
    }),
  )
  const write = (entry: Entry) =>
    terminal.print(
      json
        ? JSON.stringify(entry)
        : `${entry.timestamp} ${entry.level.padEnd(5)} ${plain(entry.message)}${entry.data ? ` ${plain(JSON.stringify(entry.data))}` : ''}`,
    )
  if (json && !given.is('follow')) {
    terminal.document(page)
    return EXITS.done
  }
  for (const entry of page.items.toReversed()) write(entry)
  if (!given.is('follow')) return EXITS.done
  const wanted = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  let last: Problem | null = null
  for await (const result of client.events(`/logs/stream?${wanted}`, { signal })) {
    last = result.ok ? null : result.error
    if (!result.ok) {
      if (result.error.status !== null && result.error.status < 500 && result.error.status !== 429)
        throw failureOf(result.error)
      terminal.note(`${plain(result.error.detail)}; connecting again`)
    } else if (result.data.event === 'log') write(result.data.data as Entry)
    else if (result.data.event === 'dropped')
      terminal.complain(`${(result.data.data as { count: number }).count} entries were left out: too many at once`)
  }
  if (signal.aborted) return EXITS.interrupted
  throw last ? failureOf(last) : failed('the stream ended')
}

export const logCommands: readonly Command[] = [
  {
    name: 'logs',
    summary: 'The log of the service, on all its machines',
    details: 'With --follow and --json: one JSON document a line.',
    flags: [
      { name: 'follow', short: 'f', summary: 'go on with new entries' },
      { name: 'level', value: 'LEVEL', choices: LEVELS, summary: 'of this level and worse' },
      { name: 'text', value: 'TEXT', summary: 'only lines with this text' },
      { name: 'since', value: 'TIME', summary: 'from this time on (2026-11-01T12:00:00Z)' },
      { name: 'limit', value: 'N', summary: 'at most so many earlier ones, 1 to 1000 (default 200)' },
    ],
    run: logs,
  },
]
