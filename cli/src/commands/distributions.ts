// dist list, setup.
import { must, type Command, type Context, type Given } from '../command.ts'
import { EXITS } from '../exits.ts'
import { need } from '../failure.ts'

async function list(context: Context) {
  const client = await context.client()
  const answer = need(await client.call('GET /distributions', { signal: context.signal }))
  if (context.json) context.terminal.document(answer)
  else
    context.terminal.table(
      ['CODENAME', 'FORMAT', 'ARCHITECTURES', 'PACKAGES', 'TAKES PACKAGES'],
      answer.distributions.map((one) => [
        one.codename,
        one.format,
        one.architectures.join(', '),
        one.package_count,
        one.active ? 'yes' : 'no',
      ]),
    )
  return EXITS.done
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
    terminal.note(`sets up the machine that runs it; then: ${answer.install_command} PACKAGE`)
  }
  return EXITS.done
}

export const distributionCommands: readonly Command[] = [
  { name: 'dist list', summary: 'The distributions, and how many packages each has', run: list },
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
