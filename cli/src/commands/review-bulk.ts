// review bulk: one decision about many held versions.
import type { AnswerOf, Client } from 'gatehouse-client'
import { FLAGS, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS, exitOf, gravest, type Exit } from '../exits.ts'
import { failed, need, usage } from '../failure.ts'
import { packageIn } from '../named-package.ts'
import { once } from '../once.ts'
import { confirm } from '../prompt.ts'
import { plain } from '../terminal.ts'
import { decisionOf, DECISION_FLAGS, EFFECTS } from './review.ts'

type Answer = AnswerOf<'POST /security/decisions/bulk'>

/** The API decides about so many at once. */
const AT_ONCE = 200

async function bulk(context: Context, given: Given) {
  const { terminal, json } = context
  const decision = must(given, 'DECISION') as 'approve' | 'reject'
  const named = given.list('PKG@VERSION').map((text) => {
    const { name, version } = packageIn(text)
    if (version === undefined) throw usage(`the version is missing: ${name}@VERSION`)
    return { package: name, version }
  })
  const dryRun = given.is('dry-run')
  const body = { ...decisionOf(given, decision), dry_run: dryRun }
  if (decision === 'reject' && !dryRun && !given.is('yes')) {
    const question = `reject ${named.length} versions? Clients lose them where they have them, and the same bytes are refused from now on.`
    if (!(await confirm(terminal, question, '--yes'))) throw failed('nothing was decided')
  }
  const client = await context.client()
  const where = { distribution: given.text('distribution'), arch: given.text('arch') }
  const seen = await seenDigests(context, client, named, where)
  const answers: Answer[] = []
  for (let from = 0; from < seen.length; from += AT_ONCE) {
    const items = seen.slice(from, from + AT_ONCE)
    const answer = need(
      await client.call('POST /security/decisions/bulk', {
        body: { ...body, items },
        headers: once(),
        signal: context.signal,
      }),
    )
    answers.push(answer)
    if (!json) for (const item of answer.items) say(context, item, dryRun)
  }
  const items = answers.flatMap((answer) => answer.items)
  const exit = gravest(items.map(exitOfItem))
  if (json) terminal.document({ items, exit })
  return exit
}

type Named = { package: string; version: string }

/** With the digest of the file that is there when the command begins: one that is replaced meanwhile is not decided about. */
async function seenDigests(
  { signal }: Context,
  client: Client,
  named: readonly Named[],
  where: { distribution: string | undefined; arch: string | undefined },
) {
  const seen: (Named & typeof where & { sha256: string | undefined })[] = []
  for (const one of named) {
    const answer = await client.call('GET /security/packages/{name}/{version}/decision', {
      params: { name: one.package, version: one.version },
      query: where,
      signal,
    })
    // The decision itself says best what is wrong with one.
    seen.push({ ...one, ...where, sha256: answer.ok ? answer.data.manifest.sha256 : undefined })
  }
  return seen
}

type Item = Answer['items'][number]

function exitOfItem({ result, code }: Item): Exit {
  return result === 'decided' ? EXITS.done : exitOf({ code: code ?? 'failed', status: null })
}

function say({ terminal }: Context, item: Item, dryRun: boolean): void {
  const what = `${plain(item.package)} ${plain(item.version)}`
  if (item.result === 'failed')
    terminal.complain(`${what}: ${dryRun ? 'would be refused: ' : ''}${plain(item.detail ?? '')} [${item.code ?? ''}]`)
  for (const { distribution, arch, status, effect } of item.result === 'decided' ? item.records : [])
    terminal.print(
      `${what} (${plain(arch)}) in ${plain(distribution)}: ${dryRun ? 'would be ' : ''}${status}, ${EFFECTS[effect]}`,
    )
}

export const reviewBulkCommands: readonly Command[] = [
  {
    name: 'review bulk',
    summary: 'Decide about many held versions with one reason; each distribution is published once',
    details:
      'Each version is decided about by itself: one that cannot be decided does not stop the others, and the gravest decides the exit code.',
    arguments: [
      { name: 'DECISION', choices: ['approve', 'reject'], summary: 'approve or reject' },
      { name: 'PKG@VERSION', many: true, summary: 'packages and their versions; - reads them from standard input' },
    ],
    flags: [...DECISION_FLAGS, FLAGS.distribution, FLAGS.arch, FLAGS.dryRun, FLAGS.yes],
    examples: [
      [
        'look first, then decide',
        "review bulk approve texlive-base@2023.1-1 texlive-extra@2023.1-1 --reason 'not reachable' --expires 90d --dry-run",
      ],
    ],
    run: bulk,
  },
]
