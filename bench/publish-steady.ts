// Measures steady uploads to a repository of N packages: publishes a second, and the size of index generations; and one client
// that uploads one package after another.
// Usage: node bin/with-postgres.mjs npx node bench/publish-steady.ts [--size 6300] [--clients 4] [--pause 600] [--seconds 60]
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startService, type Service } from '../test/service.ts'
import { createBenchDatabase, median } from './database.ts'
import { fill } from './fill.ts'
import { writeSamples } from './samples.ts'

const SEQUENTIAL = 50
const FAST = 200

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '6300' },
    clients: { type: 'string', default: '4' },
    pause: { type: 'string', default: '600' },
    seconds: { type: 'string', default: '60' },
  },
})
const [size, clients, pause, seconds] = [values.size, values.clients, values.pause, values.seconds].map(Number) as [
  number,
  number,
  number,
  number,
]

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'ignore' })
const base = await mkdtemp(join(tmpdir(), 'bench-steady-'))
const reposDir = join(base, 'repos')
const { url: databaseUrl, drop } = await createBenchDatabase(base)
let service: Service | undefined
try {
  await fill({
    databaseUrl,
    reposDir,
    codename: 'jammy',
    files: await writeSamples('deb', join(base, 'stock'), 0, size),
  })
  service = await startService({ reposDir, databaseUrl, env: { REPO_FORMAT: 'apt' } })
  const fresh = await writeSamples('deb', join(base, 'fresh'), size, SEQUENTIAL + Math.ceil(seconds * 60) + FAST)
  const next = async () => {
    const path = fresh.pop() as string
    const bytes = await readFile(path)
    const started = performance.now()
    const { status, body } = await service!.upload(bytes, path.split('/').at(-1) as string, { distribution: 'jammy' })
    if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`)
    return performance.now() - started
  }
  console.log(`N = ${size}, load ${loadavg()[0]?.toFixed(1)}`)
  await next()

  const times: number[] = []
  const began = performance.now()
  for (let n = 0; n < SEQUENTIAL; n++) times.push(await next())
  console.log(
    `  one client, ${SEQUENTIAL} uploads: ${((performance.now() - began) / 1000).toFixed(1)} s, median ${median(times).toFixed(0)} ms, slowest ${Math.max(...times).toFixed(0)} ms`,
  )

  const before = { published: published(), mib: room(), generations: generations() }
  const until = performance.now() + seconds * 1000
  const uploads: number[] = []
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, room())), 5000)
  await Promise.all(
    Array.from({ length: clients }, async (_, n) => {
      await delay((pause / clients) * n)
      while (performance.now() < until) {
        uploads.push(await next())
        await delay(pause)
      }
    }),
  )
  clearInterval(watch)
  console.log(
    `  ${clients} clients with ${pause} ms pause, ${seconds} s: ${(uploads.length / seconds).toFixed(1)} uploads and ${((published() - before.published) / seconds).toFixed(1)} publishes a second, median ${median(uploads).toFixed(0)} ms, slowest ${Math.max(...uploads).toFixed(0)} ms`,
  )
  console.log(
    `  generations: ${before.mib} MiB before (${before.generations}), ${room()} MiB after (${generations()}), at most ${Math.max(most, room())} MiB`,
  )
} finally {
  await service?.stop()
  await drop()
  await rm(base, { recursive: true, force: true })
}

function published(): number {
  return service!.log.filter((entry) => typeof entry === 'object' && entry['msg'] === 'published').length
}

function room(): number {
  const output = execFileSync('sh', ['-c', 'du -sm "$0" 2>/dev/null || true', join(reposDir, '.generations')])
  return Number(/^\d+/.exec(output.toString())?.[0])
}

function generations(): number {
  return Number(execFileSync('sh', ['-c', 'ls "$0" | grep -c "^r"', join(reposDir, '.generations/deb/jammy')]))
}
