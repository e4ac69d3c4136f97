// backup create, list, download, delete.
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { FLAGS, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need, notFound } from '../failure.ts'
import { printRows } from '../listing.ts'
import { once } from '../once.ts'
import { confirm } from '../prompt.ts'
import { sizeText } from '../spans.ts'
import { plain } from '../terminal.ts'

async function create(context: Context) {
  const client = await context.client()
  context.terminal.note('the service reads and verifies everything; this can take long')
  const made = need(await client.call('POST /backup', { headers: once(), signal: context.signal }))
  if (context.json) context.terminal.document(made)
  else context.terminal.print(`${plain(made.name)}\t${sizeText(made.size_bytes)}\t${made.sha256}`)
  return EXITS.done
}

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /backup', { signal: context.signal }))
  return printRows(
    context,
    { ...answer, total: answer.backups.length },
    {
      rows: ({ backups }) => backups,
      head: ['NAME', 'SIZE', 'MADE', 'SHA256'],
      cells: (one) => [one.name, sizeText(one.size_bytes), one.created_at, one.sha256 ?? '-'],
    },
  )
}

/** Continues an interrupted download, and verifies the digest before the file gets its name. */
async function download(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const name = must(given, 'NAME')
  const known = need(await client.call('GET /backup', { signal })).backups.find((one) => one.name === name)
  if (!known) throw notFound(`there is no backup ${name}; \`gatehouse backup list\` names them`)
  const file = given.text('output') ?? name
  const partial = `${file}.partial`
  const have = (await stat(partial).catch(() => null))?.size ?? 0
  if (have < known.size_bytes) {
    const headers: Record<string, string> = have > 0 ? { range: `bytes=${have}-` } : {}
    const opened = need(await client.open('GET /backup/{name}', { params: { name }, signal, headers }))
    const continues = opened.status === 206
    if (continues) terminal.note(`continuing after ${sizeText(have)}`)
    const body = Readable.fromWeb(opened.body as unknown as ReadableStream<Uint8Array>)
    await pipeline(body, createWriteStream(partial, { flags: continues ? 'a' : 'w', mode: 0o600 }), { signal })
  }
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(partial)) hash.update(chunk as Buffer)
  if (known.sha256 !== null && hash.digest('hex') !== known.sha256) {
    await rm(partial)
    throw failed('what arrived is not what the service has; the same command loads it again')
  }
  await rename(partial, file)
  if (context.json) terminal.document({ ...known, file })
  else terminal.print(`${file}\t${sizeText(known.size_bytes)}${known.sha256 ? '\tverified' : ''}`)
  return EXITS.done
}

async function remove(context: Context, given: Given) {
  const { terminal, signal } = context
  const name = must(given, 'NAME')
  const client = await context.client()
  if (!given.is('yes') && !(await confirm(terminal, `delete the backup ${plain(name)}?`, '--yes')))
    throw failed('nothing was deleted')
  const answer = need(await client.call('DELETE /backup/{name}', { params: { name }, signal }))
  if (context.json) terminal.document(answer)
  else terminal.print(`deleted ${plain(name)}`)
  return EXITS.done
}

export const backupCommands: readonly Command[] = [
  { name: 'backup create', summary: 'Back up the whole service; ends when the archive is verified', run: create },
  { name: 'backup list', summary: 'The archives, newest first', run: list },
  {
    name: 'backup download',
    summary: 'Load an archive and verify its digest; continues an interrupted download',
    details: 'It holds all keys of the service: the file can be read by you only.',
    arguments: [{ name: 'NAME', summary: 'as `backup list` shows it' }],
    flags: [{ ...FLAGS.output, summary: 'write to this file; by default NAME in the current directory' }],
    run: download,
  },
  {
    name: 'backup delete',
    summary: 'Delete an archive',
    arguments: [{ name: 'NAME', summary: 'as `backup list` shows it' }],
    flags: [FLAGS.yes],
    run: remove,
  },
]
