// upload.
import type { Client } from 'gatehouse-client'
import { FLAGS, must, type Command, type Context, type Given } from '../command.ts'
import { EXITS, exitOf, gravest, type Exit } from '../exits.ts'
import { need, usage } from '../failure.ts'
import { filesOf } from '../glob.ts'
import { createProgress, type Item, type Progress } from '../progress.ts'
import { spanMs } from '../spans.ts'
import { packageIn, VERSION_OF } from '../named-package.ts'
import { once } from '../once.ts'
import { plain } from '../terminal.ts'
import { decidedOutcome, outcomeOf, problemOutcome, type Outcome } from '../upload/outcome.ts'
import { hashed, sourceOf, type LocalFile } from '../upload/source.ts'
import { createWaiter, type Waiter } from '../upload/wait.ts'

interface Job {
  file: string
  distribution: string
}

async function upload(context: Context, given: Given) {
  const { terminal, json, signal } = context
  const parallel = given.number('parallel', 1, 16) ?? 3
  const wait = given.text('wait')
  const waitMs = wait === undefined ? null : spanMs(wait, 'wait')
  const files = await filesOf(given.list('FILES'))
  const client = await context.client()
  // Checks that somebody is signed in before gigabytes are read and sent.
  need(await client.call('GET /auth/me', { signal }))
  const jobs = files.flatMap((file) =>
    [...new Set(given.list('distribution'))].map((distribution): Job => ({ file, distribution })),
  )
  const progress = createProgress(terminal)
  const waiter = waitMs === null ? null : createWaiter(client, Date.now() + waitMs, signal)
  const outcomes: Outcome[] = []
  try {
    const digests = new Map<string, Promise<LocalFile>>()
    const fileOf = (path: string) => {
      const known = digests.get(path) ?? hashed(path, signal)
      digests.set(path, known)
      return known
    }
    const ends: Promise<void>[] = []
    await inParallel(jobs, parallel, async (job, i) => {
      const sent = await send(job, { client, progress, signal, fileOf })
      // People decide at any time, so the remaining uploads do not wait for them.
      ends.push(
        decided(sent, waiter).then((outcome) => {
          outcomes[i] = outcome
          if (!json) terminal.print([outcome.word, job.file, job.distribution, outcome.text].map(plain).join('\t'))
        }),
      )
    })
    await Promise.all(ends)
  } finally {
    waiter?.close()
    progress.close()
  }
  const exit = gravest(outcomes.map((outcome) => exitWith(outcome, given)))
  if (json) {
    const results = jobs.map((job, i) => ({
      ...job,
      outcome: outcomes[i]?.word,
      exit: exitWith(outcomes[i]!, given),
      answer: outcomes[i]?.answer,
    }))
    terminal.document({ results, exit })
  }
  if (exit === EXITS.interrupted) terminal.note('interrupted; the same command sends what is missing')
  return exit
}

const exitWith = ({ exit }: Outcome, given: Given): Exit =>
  exit === EXITS.held && given.is('allow-held') ? EXITS.done : exit

interface Means {
  client: Client
  progress: Progress
  signal: AbortSignal
  fileOf(path: string): Promise<LocalFile>
}

interface Sent {
  outcome: Outcome
  /** its line of progress; null when nothing was sent */
  item: Item | null
}

async function send({ file, distribution }: Job, { client, progress, signal, fileOf }: Means): Promise<Sent> {
  let local: LocalFile
  try {
    local = await fileOf(file)
  } catch (error) {
    const { message: detail } = error as Error
    const exit = signal.aborted ? EXITS.interrupted : EXITS.failed
    const answer = { code: 'unreadable_file', detail }
    return { outcome: { exit, word: 'failed', text: detail, held: null, answer }, item: null }
  }
  const item = progress.begin(`${file} (${distribution})`, local.size)
  const result = await client.upload({
    file: sourceOf(local, item.sent),
    distribution,
    sha256: local.sha256,
    signal,
    onStep: ({ label, status }) => item.step(status === 'running' ? label : `${label}: ${status}`),
  })
  return { outcome: result.ok ? outcomeOf(result.data) : problemOutcome(result.error, distribution), item }
}

/** The result of an upload; with `--wait`, after people have decided. */
async function decided({ outcome, item }: Sent, waiter: Waiter | null): Promise<Outcome> {
  let last = outcome
  if (outcome.held && waiter) {
    item?.step('waiting for a decision')
    last = decidedOutcome(outcome, await waiter.decision(outcome.held))
  }
  item?.end(last.word)
  return last
}

/** Runs the work for each item, a limited number at a time; starts no more after an interruption. */
async function inParallel<T>(
  items: readonly T[],
  parallel: number,
  work: (item: T, i: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let i = next++; i < items.length; i = next++) await work(items[i]!, i)
  }
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, worker))
}

async function promote(context: Context, given: Given) {
  const client = await context.client()
  const { json, terminal } = context
  const names = given.list('PKG[@VERSION]')
  const [only] = names.length === 1 ? names.map(packageOf) : []
  if (names.length > MOST_PROMOTED) throw usage(`promote takes up to ${MOST_PROMOTED} packages at a time`)
  if (!only && given.text('version-of') !== undefined)
    throw usage('--version-of needs a single package; write PKG@VERSION')
  const arch = given.text('arch')
  const body = {
    ...(only
      ? { package: only.package, version: given.text('version-of') ?? only.version, arch }
      : { packages: names.map((name) => ({ ...packageOf(name), arch })) }),
    from_dist: must(given, 'from'),
    to_dist: must(given, 'to'),
    dry_run: given.is('dry-run'),
  }
  const answer = need(
    await client.call('POST /distributions/promote', { body, headers: once(), signal: context.signal }),
  )
  const failed = (answer.results ?? []).filter(({ status }) => status === 'error')
  if (json) terminal.document(answer)
  else {
    terminal.table(
      ['PACKAGE', 'VERSION', 'ARCH', answer.status === 'dry_run' ? 'WOULD BE' : 'RESULT'],
      answer.versions.map((one) => [one.package, one.version, one.arch, one.result]),
    )
    for (const one of failed) terminal.complain(`${plain(one.package)}: ${plain(one.detail ?? '')} [${one.code}]`)
    for (const warning of answer.warnings) terminal.complain(`warning: ${plain(warning)}`)
    terminal.note(plain(answer.message))
  }
  // Each is an answer to a request that succeeded.
  return gravest(failed.map(({ code }) => exitOf({ code: code ?? '', status: 200 })))
}

/** The limit of the API. */
const MOST_PROMOTED = 200

/** `hello`, `hello@2.10-3`, or `hello=2.10-3` as apt writes it. */
function packageOf(text: string): { package: string; version: string | undefined } {
  const { name, version } = packageIn(/^[^@=]+=/.test(text) ? text.replace('=', '@') : text)
  return { package: name, version }
}

export const uploadCommands: readonly Command[] = [
  {
    name: 'upload',
    summary: 'Send packages through the gate into one or more distributions',
    details:
      'All files are tried; the gravest result is the exit code. Network errors and busy answers are tried again, up to five times. The same command again sends what is missing: bytes that are there already count as done. Prints a line for each file: result, file, distribution, text.',
    arguments: [
      {
        name: 'FILES',
        many: true,
        files: true,
        summary: 'package files; * ? [] and ** are expanded, - reads their names from standard input',
      },
    ],
    flags: [
      {
        name: 'distribution',
        short: 'd',
        value: 'CODENAME',
        many: true,
        required: true,
        summary: 'where to; several with several -d',
      },
      {
        name: 'wait',
        value: 'TIME',
        bare: '30m',
        summary: 'wait for people to decide about what is held, at most so long (30m)',
      },
      { name: 'allow-held', summary: 'exit 0 for packages that are held for review' },
      { name: 'parallel', value: 'N', summary: 'files at a time, 1 to 16 (default 3)' },
    ],
    examples: [
      ['everything that a build made', 'upload dist/*.deb -d noble'],
      ['in CI, with the verdicts in a file', 'upload dist/*.deb -d noble --json > verdict.json'],
      ['wait two hours for a reviewer', 'upload out/*.rpm -d rocky9 --wait=2h'],
    ],
    run: upload,
  },
  {
    name: 'promote',
    summary: 'Copy published packages into another distribution, with their verdicts and decisions',
    details:
      'Several are promoted in one call, up to 200. One that fails does not stop the others; the gravest failure is the exit code.',
    arguments: [
      {
        name: 'PKG[@VERSION]',
        many: true,
        summary: 'the newest version of each architecture, unless one is named; - reads them from standard input',
      },
    ],
    flags: [
      { name: 'from', value: 'CODENAME', required: true, summary: 'where it is' },
      { name: 'to', value: 'CODENAME', required: true, summary: 'where it goes' },
      VERSION_OF,
      { name: 'arch', value: 'ARCH', summary: 'only for this architecture' },
      FLAGS.dryRun,
    ],
    examples: [
      ['see first what it would do', 'promote hello --from noble-test --to noble --dry-run'],
      ['what proved itself this week', 'promote hello world@1.2-1 --from noble-test --to noble'],
    ],
    run: promote,
  },
]
