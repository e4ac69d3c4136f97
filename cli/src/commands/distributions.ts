// dist list, check, setup.
import type { AnswerOf } from 'gatehouse-client'
import { must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { failed, need } from '../failure.ts'
import { printRows } from '../listing.ts'
import { plain } from '../terminal.ts'
import { follow } from './tasks.ts'

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /distributions', { signal: context.signal }))
  return printRows(context, answer, {
    rows: ({ distributions }) => distributions,
    head: ['CODENAME', 'FORMAT', 'ARCHITECTURES', 'PACKAGES', 'TAKES PACKAGES', 'READ BY'],
    cells: (one) => [
      ...[one.codename, one.format, one.architectures.join(', '), one.package_count, one.active ? 'yes' : 'no'],
      one.private ? 'those with a right' : 'everybody',
    ],
  })
}

async function setup(context: Context, given: Given) {
  const { terminal } = context
  const client = await context.client()
  const params = { codename: must(given, 'CODENAME') }
  const answer = need(await client.call('GET /distributions/{codename}/setup', { params, signal: context.signal }))
  if (context.json) terminal.document(answer)
  else if (given.is('script')) terminal.print(answer.script.content.trimEnd())
  else if (given.is('file')) {
    terminal.print(answer.file.content.trimEnd())
    terminal.note(`belongs in ${answer.file.install_as}`)
  } else {
    terminal.print(answer.command)
    if (answer.private) terminal.note('needs the token of a machine in GATEHOUSE_TOKEN')
    terminal.note(`sets up the machine that runs it; then: ${answer.install_command} PACKAGE`)
  }
  return EXITS.done
}

type Checked = AnswerOf<'GET /distributions/{codename}/installability'>

/** Checks a distribution, and prints what cannot be installed from it, and why. */
async function check(context: Context, given: Given) {
  const { terminal, json, signal } = context
  const client = await context.client()
  const params = { codename: must(given, 'CODENAME') }
  if (!given.is('last')) {
    const { task_id: id } = need(await client.call('POST /distributions/{codename}/installability', { params, signal }))
    // The result of the task is printed, not the task.
    const exit = await follow({ ...context, json: false, terminal: { ...terminal, print: terminal.note } }, client, id)
    if (exit !== EXITS.done) return exit
  }
  const answer = need(await client.call('GET /distributions/{codename}/installability', { params, signal }))
  if (answer.checked_at === null) throw failed(`${params.codename} was not checked yet: leave --last out`)
  if (json) terminal.document(answer)
  else printCheck(context, answer)
  return answer.uninstallable_total > 0 ? EXITS.failed : EXITS.done
}

function printCheck({ terminal }: Context, answer: Checked): void {
  terminal.table(
    ['PACKAGE', 'VERSION', 'ON', 'WITH UPSTREAM', 'WHY NOT'],
    answer.uninstallable.map((one) => [
      ...[one.name, one.version, one.architecture],
      one.installable_with_upstream === null ? '-' : one.installable_with_upstream ? 'yes' : 'no',
      one.causes.map(({ sentence }) => sentence).join('; '),
    ]),
  )
  const { uninstallable_total: total, uninstallable: listed, undecided_total: undecided } = answer
  if (total > listed.length) terminal.complain(`warning: ${listed.length} of ${total}`)
  if (undecided > 0) terminal.complain(`warning: ${undecided} could not be decided in time`)
  if (!answer.current) terminal.complain('warning: packages were published or removed since this check')
  terminal.note(`${total} of ${answer.total} packages of ${plain(answer.codename)} cannot be installed`)
}

export const distributionCommands: readonly Command[] = [
  { name: 'dist list', summary: 'The distributions, and how many packages each has', run: list },
  {
    name: 'dist check',
    summary: 'Which packages of a distribution cannot be installed, and why; exit 1 when there are some',
    arguments: [{ name: 'CODENAME', summary: 'the distribution' }],
    flags: [{ name: 'last', summary: 'show the result of the last check instead of checking again' }],
    run: check,
  },
  {
    name: 'setup',
    summary: 'Print the command that sets up a machine to install from a distribution',
    arguments: [{ name: 'CODENAME', summary: 'the distribution' }],
    flags: [
      { name: 'file', summary: 'print the configuration file of the package manager instead' },
      { name: 'script', summary: 'print the script that the command runs instead' },
    ],
    run: setup,
  },
]
