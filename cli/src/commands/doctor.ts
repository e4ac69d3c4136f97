// doctor: why the command does not work here.
import type { AnswerOf, Client } from 'gatehouse-client'
import type { Command, Context } from '../command.ts'
import { certificateOf, clockText, proxyFor } from '../diagnosis.ts'
import { EXITS, gravest, type Exit } from '../exits.ts'
import { Failure, need, sentence } from '../failure.ts'
import { repositoryIn } from '../download/parts.ts'
import { plain } from '../terminal.ts'

interface Check {
  name: string
  result: 'ok' | 'warning' | 'failed'
  detail: string
  exit: Exit
}

const ok = (name: string, detail: string): Check => ({ name, result: 'ok', detail, exit: EXITS.done })
const warning = (name: string, detail: string): Check => ({ name, result: 'warning', detail, exit: EXITS.done })
const failed = (name: string, detail: string, exit: Exit = EXITS.failed): Check => ({
  name,
  result: 'failed',
  detail,
  exit,
})

async function doctor(context: Context) {
  const { terminal, json } = context
  const checks: Check[] = []
  for await (const check of checksOf(context)) {
    checks.push(check)
    if (!json) terminal.print([check.result, check.name, plain(check.detail)].join('\t'))
  }
  const exit = gravest(checks.map((check) => check.exit))
  if (json) terminal.document({ checks, exit })
  return exit
}

/** Each check needs those before it. */
async function* checksOf(context: Context): AsyncGenerator<Check> {
  const { access, env, version, node, signal } = context
  yield ok('command', `version ${version}, Node ${node}`)
  const target = await access.target()
  if (target.url === null) {
    yield failed('address', 'no service is named: give --url, set GATEHOUSE_URL, or `gatehouse login`', EXITS.usage)
    return
  }
  const url = new URL(target.url)
  yield ok('address', `${target.url}${target.profile ? `, profile ${target.name}` : ''}, configuration ${access.path}`)
  const proxy = proxyFor(url, env)
  yield ok('proxy', proxy ?? 'none')
  const anonymous = await access.anonymous(target.url)
  const began = Date.now()
  const alive = await anonymous.request('GET', '/health/live', { signal })
  if (!alive.ok) {
    yield failed('connection', sentence(alive.error))
    return
  }
  const ended = Date.now()
  yield ok('connection', `answers after ${ended - began} ms`)
  if (url.protocol === 'https:' && proxy === null) yield* certificate(url)
  const clock = clockText(alive.headers.get('date'), began, ended)
  yield clock.isFar ? failed('clock', clock.text) : ok('clock', clock.text)
  yield* health(context, anonymous)
  yield* signIn(context)
}

async function* certificate(url: URL): AsyncGenerator<Check> {
  const found = await certificateOf(url)
  if (!found) return
  const days = Math.floor((found.until.getTime() - Date.now()) / 86_400_000)
  const text = `of ${found.issuer}, ends ${found.until.toISOString()}`
  yield days < 14 ? warning('certificate', `${text}: in ${days} days`) : ok('certificate', text)
}

async function* health({ version, signal }: Context, client: Client): AsyncGenerator<Check> {
  const answer = await client.call('GET /health', { signal })
  const report = answer.ok ? answer.data : (answer.error.body as unknown as AnswerOf<'GET /health'>)
  if (typeof report.status !== 'string') {
    yield warning('health', answer.ok ? 'no report' : sentence(answer.error))
    return
  }
  const wrong = [...Object.entries(report.checks.critical), ...Object.entries(report.checks.non_critical)]
    .filter(([, check]) => !check.ok)
    .map(([name]) => name)
  const text = `${report.status}${wrong.length > 0 ? `: ${wrong.join(', ')}` : ''}`
  yield report.status === 'healthy'
    ? ok('health', text)
    : report.status === 'degraded'
      ? warning('health', text)
      : failed('health', text)
  // A development build has no version number.
  if (/^\d/.test(report.version) && report.version !== version)
    yield warning('version', `the service is ${report.version}: curl -fsSO ${client.url}/cli/gatehouse.mjs`)
}

async function* signIn(context: Context): AsyncGenerator<Check> {
  const { signal } = context
  let client: Client
  try {
    client = await context.client()
    const me = need(await client.call('GET /auth/me', { signal }))
    const scopes = Object.entries(me.scopes ?? {}).map(
      ([key, values]) => `only ${key} ${(values as string[]).join(', ')}`,
    )
    yield ok('sign-in', [`${me.username}, ${me.role}`, ...scopes].join('; '))
    if (me.mfa_enrolment_required) yield failed('second factor', 'must be set up in the console first', EXITS.signedOut)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    yield failed('sign-in', error.detail, error.exit)
    return
  }
  yield* repositories(context, client)
}

/** One distribution of each format, because the distributions of a format have the same listener. */
async function* repositories({ access, signal }: Context, client: Client): AsyncGenerator<Check> {
  const { distributions } = need(await client.call('GET /distributions', { signal }))
  const fetcher = await access.fetch()
  for (const format of new Set(distributions.map((one) => one.format))) {
    const one = distributions.find((distribution) => distribution.format === format && distribution.active)
    if (!one) continue
    const params = { codename: one.codename }
    const setup = await client.call('GET /distributions/{codename}/setup', { params, signal })
    if (!setup.ok) yield failed(`${format} repository`, sentence(setup.error))
    else yield reached(`${format} repository`, setup.data, await statusOf(fetcher, setup.data.key_url, signal))
  }
}

function reached(name: string, setup: { key_url: string; file: { content: string } }, status: number | string): Check {
  const where = repositoryIn(setup.file.content) ?? setup.key_url
  if (status === 200) return ok(name, `${where} answers`)
  return failed(name, `${setup.key_url}: ${typeof status === 'number' ? `answered ${status}` : status}`)
}

/** @returns the status, or why there was none */
async function statusOf(fetcher: typeof fetch, url: string, signal: AbortSignal): Promise<number | string> {
  try {
    const response = await fetcher(url, { signal, redirect: 'manual' })
    await response.body?.cancel()
    return response.status
  } catch (error) {
    const { message, cause } = error as Error
    return cause instanceof Error ? cause.message : message
  }
}

export const doctorCommands: readonly Command[] = [
  {
    name: 'doctor',
    summary: 'Find out why the command does not work here',
    details:
      'Looks at address, proxy, connection, certificate, clock, health, sign-in, role and the repositories, in this order. Exit 1 when something is wrong, 2 without an address, 4 when only the sign-in is.',
    run: doctor,
  },
]
