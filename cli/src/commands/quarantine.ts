// quarantine: what to do first when a served package turns out to be bad.
import type { AnswerOf, Client } from 'gatehouse-client'
import { FLAGS, type Command, type Context, type Given } from '../command.ts'
import { EXITS, exitOf, gravest, type Exit } from '../exits.ts'
import { failed, need, sentence, usage } from '../failure.ts'
import { packageIn } from '../named-package.ts'
import { confirm } from '../prompt.ts'
import { plain } from '../terminal.ts'

type Answer = AnswerOf<'POST /security/packages/{name}/{version}/quarantine'>

interface Result {
  package: string
  version: string
  exit: Exit
  /** the answer of the API, or its error */
  answer: Answer | Record<string, unknown>
}

async function quarantine(context: Context, given: Given) {
  const { terminal, json } = context
  const named = given.list('PKG@VERSION').map((text) => {
    const { name, version } = packageIn(text)
    if (version === undefined) throw usage(`the version is missing: ${name}@VERSION`)
    return { name, version }
  })
  const client = await context.client()
  if (!given.is('yes')) {
    const what = named.map(({ name, version }) => `${name}@${version}`).join(', ')
    const question = `quarantine ${what}? Clients cannot install it any more.`
    if (!(await confirm(terminal, question, '--yes'))) throw failed('nothing was quarantined')
  }
  const results: Result[] = []
  // One after the other: each answer comes when the clients of its distributions have lost the package.
  for (const one of named) {
    const result = await quarantineOne(context, client, given, one)
    results.push(result)
    if (!json) say(context, result)
  }
  const exit = gravest(results.map((result) => result.exit))
  if (json) terminal.document({ results, exit })
  return exit
}

async function quarantineOne(
  { signal }: Context,
  client: Client,
  given: Given,
  { name, version }: { name: string; version: string },
): Promise<Result> {
  const reason = given.text('reason')
  // The types do not have the body, because it is optional.
  const opened = await client.request(
    'POST',
    `/security/packages/${encodeURIComponent(name)}/${encodeURIComponent(version)}/quarantine`,
    {
      query: { distribution: given.text('distribution'), arch: given.text('arch') },
      ...(reason === undefined ? {} : { body: { reason } }),
      signal,
    },
  )
  const about = { package: name, version }
  if (opened.ok) return { ...about, exit: EXITS.done, answer: (await opened.data.json()) as Answer }
  // Without credential, right or service the next ones fail too.
  if (opened.error.code !== 'not_found') need(opened)
  return { ...about, exit: exitOf(opened.error), answer: { ...opened.error.body, detail: sentence(opened.error) } }
}

function say({ terminal }: Context, { package: name, version, answer, exit }: Result): void {
  const what = `${plain(name)} ${plain(version)}`
  if (exit === EXITS.done)
    terminal.print(`${what}: quarantined in ${(answer as Answer).distributions.map(plain).join(', ')}`)
  else terminal.complain(`${what}: ${plain(String((answer as { detail?: unknown }).detail))}`)
}

export const quarantineCommands: readonly Command[] = [
  {
    name: 'quarantine',
    summary: 'Take versions away from clients at once, and move their files to quarantine',
    details: 'In every distribution and for every architecture, unless -d and --arch say which.',
    arguments: [
      {
        name: 'PKG@VERSION',
        many: true,
        summary: 'packages and their versions, such as hello@2.10-3; - reads them from standard input',
      },
    ],
    flags: [
      { name: 'reason', value: 'TEXT', summary: 'why, for those who ask later' },
      FLAGS.distribution,
      FLAGS.arch,
      FLAGS.yes,
    ],
    examples: [['a version that turned out to be bad', "quarantine hello@2.10-3 --reason 'CVE-2026-1234' --yes"]],
    run: quarantine,
  },
]
