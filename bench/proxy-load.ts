// A cold and a warm installation of hundreds of npm packages through a proxy of a generated registry, in which some lists have up to 40 MB: how long
// the event loop is held, what memory the service and its readers take, and how many statements each name and file costs.
// Usage: node bin/with-postgres.mjs npx node bench/proxy-load.ts [--names 400] [--rounds 1] [--beside <directory of another build>] [--profile <directory>]
// The clients do what npm 11 does with a lockfile without addresses: 15 at a time, the short form of each list, then the file.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from '../bin/build.mjs'
import { startLargeRegistry, type LargeName } from '../test/fakes/large-registry.ts'
import { startCountedDatabase, type CountedDatabase } from '../test/fakes/counted-database.ts'
import { watchMemory } from '../test/process-memory.ts'
import { removeTemporary, startService } from '../test/service.ts'
import { longest, notingTurns, turnsIn } from '../test/turns.ts'
import { createBenchDatabase } from './database.ts'

const { values } = parseArgs({
  options: {
    names: { type: 'string', default: '400' },
    rounds: { type: 'string', default: '1' },
    beside: { type: 'string' },
    profile: { type: 'string' },
    statements: { type: 'boolean', default: false },
  },
})
const CLIENTS = 15
const MIB = 1024 * 1024
const SHORT = 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*'

/** As a large tree has them: most lists are small, some have megabytes. */
const names: LargeName[] = Array.from({ length: Number(values.names) }, (_, n) => {
  const listBytes = [40, 20, 10, 5][n] ?? (n < 30 ? 1 + (n % 3) : n < 120 ? 0.3 : 0.05)
  return { name: `lib-${n}`, listBytes: listBytes * MIB, fileBytes: n % 20 === 0 ? MIB : 20_000 }
})

async function install(api: string): Promise<number> {
  const from = performance.now()
  const left = [...names]
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const headers = { accept: SHORT, 'accept-encoding': 'gzip' }
      const list = await fetch(`${api}/npm/world/${next.name}`, { headers })
      // Scanned as text: to parse 40 MB would be this process's work, not the service's.
      const text = await list.text()
      const latest = /"latest":"([^"]+)"/.exec(text)?.[1]
      if (list.status !== 200 || !latest) throw new Error(`${next.name}: ${list.status} ${text.slice(0, 300)}`)
      const file = await asked(`${api}/npm/world/${next.name}/-/${next.name}-${latest}.tgz`)
      if (file.status !== 200) throw new Error(`${next.name} ${latest}: ${file.status} ${await file.text()}`)
      for await (const _ of file.body!);
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, work))
  return (performance.now() - from) / 1000
}

/** npm asks again after 429. */
async function asked(url: string): Promise<Response> {
  for (let again = 0; ; again++) {
    const answer = await fetch(url)
    if (answer.status !== 429 || again > 5) return answer
    await answer.body?.cancel()
    await new Promise((done) => setTimeout(done, 1000 * Number(answer.headers.get('retry-after') ?? 1)))
  }
}

const print = (...cells: (string | number)[]) => console.log(`| ${cells.join(' | ')} |`)

/** @param root of the build; of this one by default */
async function measured(what: string, upstream: string, root?: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'bench-load-'))
  const database = await createBenchDatabase(dir)
  const counted: CountedDatabase | null = database.url.startsWith('postgres')
    ? await startCountedDatabase(database.url)
    : null
  const turns = join(dir, 'turns')
  const noting = notingTurns(turns)
  if (values.profile)
    noting['NODE_OPTIONS'] = `${noting['NODE_OPTIONS']} --cpu-prof --cpu-prof-dir=${resolve(values.profile)}`
  const service = await startService({
    ...{
      optimized: true,
      databaseUrl: counted?.url ?? database.url,
      env: { ...noting, ALLOW_PRIVATE_SOURCES: 'true' },
    },
    ...(root === undefined ? {} : { root: resolve(root) }),
  })
  try {
    const body = { format: 'npm', name: 'world', kind: 'proxy', public: true, upstream: { url: upstream } }
    const made = await service.call('POST', '/registries', body)
    if (made.status !== 201) throw new Error(JSON.stringify(made.body))
    for (const state of ['cold', 'warm']) {
      counted?.reset()
      const memory = watchMemory(service.process.pid!)
      const from = Date.now()
      const cpu = processorMs(service.process.pid!)
      const seconds = await install(service.api)
      const { own, readers, all } = memory.stop()
      const long = longest(turnsIn(turns, from))
      const held = turnsIn(turns, from).filter(({ cpuMs }) => cpuMs > 50).length
      const statements = counted ? (counted.total() / names.length).toFixed(1) : '-'
      const busy = ((processorMs(service.process.pid!) - cpu) / 1000).toFixed(1)
      print(
        what,
        state,
        seconds.toFixed(1),
        busy,
        long.cpuMs,
        held,
        ...[own, readers, all].map((n) => Math.round(n / MIB)),
        statements,
      )
      if (values.statements && counted)
        for (const [text, n] of counted.tally()) console.log(`${(n / names.length).toFixed(2).padStart(7)}  ${text}`)
    }
  } finally {
    await service.stop()
    await counted?.close()
    await database.drop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Processor time of the service without its readers. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const upstream = await startLargeRegistry(names)
try {
  await build()
  console.log(`${names.length} names, load ${loadavg()[0]!.toFixed(1)}; MiB at most; statements per name and its file`)
  print(
    'build',
    'state',
    'seconds',
    'processor s',
    'longest turn ms',
    'turns over 50 ms',
    'own',
    'readers',
    'both',
    'statements',
  )
  for (let round = 0; round < Number(values.rounds); round++) {
    if (values.beside) await measured('other', upstream.url, values.beside)
    await measured('this', upstream.url)
  }
} finally {
  await upstream.close()
  await removeTemporary()
}
