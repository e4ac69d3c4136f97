// source list, add, enable, disable, delete.
import { readFile } from 'node:fs/promises'
import { FLAGS, listed, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need, notFound, usage } from '../failure.ts'
import { printRows } from '../listing.ts'
import { once } from '../once.ts'
import { confirm } from '../prompt.ts'
import { plain } from '../terminal.ts'

const TYPES = ['apt', 'rpm', 'apk'] as const

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /import/sources', { signal: context.signal }))
  return printRows(context, answer, {
    rows: ({ sources }) => sources,
    head: ['ID', 'KEY', 'NAME', 'TYPE', 'FOR', 'ENABLED', 'STATUS', 'PACKAGES', 'LAST READ', 'URL'],
    cells: (one) => [
      ...[
        one.id,
        one.key ?? '-',
        one.name,
        one.type,
        one.target ?? one.distribution ?? '-',
        one.enabled ? 'yes' : 'no',
      ],
      ...[one.status, one.pkg_count, one.last_sync ?? 'never', one.url],
    ],
    none: () => 'there are no sources',
  })
}

async function add(context: Context, given: Given) {
  const client = await context.client()
  const keyFile = given.text('gpg-key')
  const body = {
    ...{ name: must(given, 'NAME'), url: must(given, 'address') },
    type: must(given, 'type') as (typeof TYPES)[number],
    distribution: given.text('suite'),
    components: listed(given, 'component'),
    architectures: listed(given, 'arch'),
    target: given.text('distribution'),
    gpg_key: keyFile === undefined ? undefined : await keyIn(keyFile),
    allow_unsigned: given.is('allow-unsigned') ? true : undefined,
    security: given.is('security') ? true : undefined,
  }
  const made = need(await client.call('POST /import/sources', { body, headers: once(), signal: context.signal }))
  if (context.json) context.terminal.document(made)
  else context.terminal.print(`source ${made.id}: ${plain(made.name)}`)
  return EXITS.done
}

async function keyIn(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw usage(`--gpg-key: ${(error as Error).message}`)
  })
}

async function change(context: Context, given: Given, enabled: boolean) {
  const client = await context.client()
  const changed = need(
    await client.call('PATCH /import/sources/{id}', {
      params: { id: must(given, 'SOURCE') },
      body: { enabled },
      signal: context.signal,
    }),
  )
  if (context.json) context.terminal.document(changed)
  else context.terminal.print(`source ${changed.id}, ${plain(changed.name)}: ${enabled ? 'enabled' : 'disabled'}`)
  return EXITS.done
}

async function remove(context: Context, given: Given) {
  const { terminal, signal } = context
  const client = await context.client()
  const id = must(given, 'SOURCE')
  if (!given.is('yes')) {
    if (!terminal.canAsk) await confirm(terminal, 'whether to delete it', '--yes')
    const { sources } = need(await client.call('GET /import/sources', { signal }))
    const found = sources.find((one) => String(one.id) === id || one.key === id)
    if (!found) throw notFound(`there is no source ${id}`)
    const question = `delete the source ${plain(found.name)} and its catalog? Imported packages stay.`
    if (!(await confirm(terminal, question, '--yes'))) throw failed('nothing was deleted')
  }
  const answer = need(await client.call('DELETE /import/sources/{id}', { params: { id }, signal }))
  if (context.json) terminal.document(answer)
  else terminal.print(`deleted source ${answer.id}, ${plain(answer.name)}`)
  return EXITS.done
}

const SOURCE = { name: 'SOURCE', summary: 'number or key of the source, as `source list` shows it' }

export const sourceCommands: readonly Command[] = [
  { name: 'source list', summary: 'The repositories of others that packages can be imported from', run: list },
  {
    name: 'source add',
    summary: 'Add a repository of others',
    details: 'Its catalog is read by `import sync`.',
    arguments: [{ name: 'NAME', summary: 'what people call it' }],
    flags: [
      { name: 'type', value: 'TYPE', choices: TYPES, required: true, summary: 'what kind of repository it is' },
      { name: 'address', value: 'URL', required: true, summary: 'where it is' },
      { name: 'suite', value: 'NAME', summary: 'the suite of an apt repository, such as bookworm' },
      {
        name: 'component',
        value: 'NAME',
        many: true,
        summary: 'a component of an apt repository; several with several flags',
      },
      { name: 'arch', value: 'ARCH', many: true, summary: 'only this architecture; several with several flags' },
      { name: 'gpg-key', value: 'FILE', files: true, summary: 'the key that signs it' },
      { name: 'allow-unsigned', summary: 'take it without a signature' },
      { ...FLAGS.distribution, summary: 'the distribution here that its packages are for' },
      { name: 'security', summary: 'it has security updates' },
    ],
    examples: [
      [
        'a vendor for Debian 12',
        'source add vendor --type apt --address https://apt.example.com/debian --suite bookworm --component main --gpg-key vendor.asc -d bookworm',
      ],
    ],
    run: add,
  },
  {
    name: 'source enable',
    summary: 'Read a source again from now on',
    arguments: [SOURCE],
    run: (context, given) => change(context, given, true),
  },
  {
    name: 'source disable',
    summary: 'Do not read a source any more; its catalog stays',
    arguments: [SOURCE],
    run: (context, given) => change(context, given, false),
  },
  {
    name: 'source delete',
    summary: 'Delete a source and its catalog; imported packages stay',
    arguments: [SOURCE],
    flags: [FLAGS.yes],
    run: remove,
  },
]
