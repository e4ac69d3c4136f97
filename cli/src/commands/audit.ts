// audit list, export, verify.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { readLines, type AnswerOf } from 'gatehouse-client'
import { FLAGS, PAGES, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need } from '../failure.ts'
import { printPages, type List } from '../listing.ts'
import { save } from '../save.ts'
import { namedPackage, VERSION_OF } from '../named-package.ts'

async function list(context: Context, given: Given) {
  const client = await context.client()
  const about = given.text('package') === undefined ? null : namedPackage(given)
  const query = {
    ...{ package: about?.name, version: about?.version, q: given.text('text'), ...span(given) },
    ...Object.fromEntries(['user', 'action', 'result'].map((name) => [name, given.text(name)])),
  }
  return printPages(context, given, ENTRIES, async (page) =>
    need(await client.call('GET /artifacts/audit/logs', { query: { ...query, ...page }, signal: context.signal })),
  )
}

type Entries = AnswerOf<'GET /artifacts/audit/logs'>

const ENTRIES: List<Entries, Entries['items'][number]> = {
  rows: ({ items }) => items,
  head: ['TIME', 'ACTION', 'RESULT', 'WHO', 'PACKAGE', 'VERSION', 'DISTRIBUTION', 'DETAIL'],
  cells: (one) => [
    ...[one.timestamp, one.action, one.result, one.user, one.package, one.version, one.distribution, one.detail],
  ],
}

const span = (given: Given) => ({ from: given.text('from'), to: given.text('to') })

async function exportLog(context: Context, given: Given) {
  const client = await context.client()
  const response = need(
    await client.open('GET /artifacts/audit/export', { query: span(given), signal: context.signal }),
  )
  await save(response, given.text('output'), context.terminal.output)
  return EXITS.done
}

async function verify(context: Context, given: Given) {
  const { terminal } = context
  const file = given.text('FILE')
  const client = file === undefined ? await context.client() : null
  const lines =
    client === null
      ? createInterface({ input: createReadStream(file ?? ''), crlfDelay: Infinity })
      : readLines(
          need(await client.open('GET /artifacts/audit/export', { query: span(given), signal: context.signal })),
        )
  const found = await verifyChain(lines)
  if (context.json) terminal.document(found)
  else if (found.faults.length === 0)
    terminal.print(
      `${found.entries} entries, ${found.first ?? '-'} to ${found.last ?? '-'}: every hash fits and no entry is missing between them`,
    )
  for (const fault of found.faults) terminal.complain(fault)
  if (!context.json)
    terminal.note('signatures and the ends of the chain are checked at the service: gatehouse-server verify-audit')
  return found.faults.length === 0 ? EXITS.done : EXITS.failed
}

interface Entry {
  seq: number | null
  hash: string
  prev_hash: string
  mac: string | null
}

const MOST_FAULTS = 20

/** Recomputes the hashes of an export (docs/api-decisions.md, section 5) in constant memory. */
export async function verifyChain(lines: AsyncIterable<string>) {
  const report: { entries: number; first: number | null; last: number | null; faults: string[] } = {
    entries: 0,
    first: null,
    last: null,
    faults: [],
  }
  let before: Entry | null = null
  let number = 0
  for await (const line of lines) {
    number++
    if (line === '') continue
    const fault = (what: string) => {
      if (report.faults.length < MOST_FAULTS) report.faults.push(`line ${number} ${what}`)
    }
    const entry = entryOf(line)
    if (entry === null) {
      fault('is not an audit entry')
      continue
    }
    if (hashOf(entry) !== entry.hash) fault('was altered: its hash does not fit')
    if (before && entry.prev_hash !== before.hash)
      fault('does not follow the entry before it: entries were removed or added')
    before = entry
    report.entries++
    report.first ??= entry.seq
    report.last = entry.seq
  }
  return report
}

function entryOf(line: string): Entry | null {
  try {
    const entry = JSON.parse(line) as Entry | null
    // In another form, the line could contain a key twice.
    return typeof entry?.hash === 'string' && JSON.stringify(entry) === line ? entry : null
  } catch {
    return null
  }
}

function hashOf({ hash: _hash, seq: _seq, mac: _mac, ...covered }: Entry): string {
  return createHash('sha256').update(JSON.stringify(covered)).digest('hex')
}

const SPAN = [
  { name: 'from', value: 'TIME', summary: 'from this day or time (2026-11-01, 2026-11-01T12:00:00Z)' },
  { name: 'to', value: 'TIME', summary: 'up to this day or time' },
]

export const auditCommands: readonly Command[] = [
  {
    name: 'audit list',
    summary: 'Who did what, newest first',
    flags: [
      { name: 'package', value: 'PKG[@VERSION]', summary: 'about this package, or this version of it' },
      VERSION_OF,
      { name: 'user', value: 'NAME', summary: 'by this user or token' },
      { name: 'action', value: 'ACTION', summary: 'such as UPLOAD, DELETE, SECURITY_DECISION' },
      { name: 'result', value: 'RESULT', choices: ['SUCCESS', 'WARNING', 'FAILURE'], summary: 'with this result' },
      { name: 'text', value: 'TEXT', summary: 'with this text' },
      ...SPAN,
      ...PAGES,
    ],
    run: list,
  },
  { name: 'audit export', summary: 'The audit log as JSON lines', flags: [...SPAN, FLAGS.output], run: exportLog },
  {
    name: 'audit verify',
    summary: 'Recompute the chain of the audit log, or of an export; exit 1 when something was changed',
    arguments: [{ name: 'FILE', optional: true, files: true, summary: 'an export; without it the log of the service' }],
    flags: SPAN,
    run: verify,
  },
]
