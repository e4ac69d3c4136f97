// Measures the upload of many small packages by parallel clients until all are served, and the peers' bulk import.
// Usage: node bin/with-postgres.mjs npx node bench/ingest.ts [--format deb] [--packages 10000] [--clients 8] [--peers yes]
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { FormatId } from '../test/formats.ts'
import { startService } from '../test/service.ts'
import { createBenchDatabase } from './database.ts'
import { peersFor } from './peers.ts'
import { writeSamples } from './samples.ts'

const CODENAMES: Record<FormatId, string> = { deb: 'jammy', rpm: 'almalinux9', apk: 'alpine3.21' }

const { values } = parseArgs({
  options: {
    format: { type: 'string', default: 'deb' },
    packages: { type: 'string', default: '10000' },
    clients: { type: 'string', default: '8' },
    peers: { type: 'string', default: 'yes' },
  },
})
const format = values.format as FormatId
const count = Number(values.packages)

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-ingest-'))
const { url, drop } = await createBenchDatabase(base)
try {
  const files = await writeSamples(format, join(base, 'files'), 0, count)
  console.log(
    `${count} ${format} packages, ${values.clients} clients, ${process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'PGlite'}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`,
  )
  const service = await startService({ reposDir: join(base, 'repos'), databaseUrl: url, env: { REPO_FORMAT: 'all' } })
  let ours: number
  try {
    const queue = [...files]
    const before = await processorSeconds(service.process.pid)
    const started = performance.now()
    await Promise.all(
      Array.from({ length: Number(values.clients) }, async () => {
        for (let path = queue.shift(); path; path = queue.shift()) {
          const { status, body } = await service.upload(await readFile(path), basename(path), {
            distribution: CODENAMES[format],
          })
          if (status !== 201 || body.status !== 'published')
            throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
        }
      }),
    )
    ours = performance.now() - started
    const busy = (await processorSeconds(service.process.pid)) - before
    const { body } = await service.call('GET', '/distributions/')
    const row = body.distributions.find((one: { codename: string }) => one.codename === CODENAMES[format])
    if (row.package_count !== count) throw new Error(`${row.package_count} of ${count} packages are listed`)
    const publishes = service.log.filter((entry) => typeof entry === 'object' && entry['msg'] === 'published').length
    const peak = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${service.process.pid}/status`, 'utf8'))?.[1]
    console.log(
      `ours: ${(ours / 1000).toFixed(1)} s, ${(count / (ours / 1000)).toFixed(0)} packages/s, each answered after it is served; ${publishes} publishes; ${((busy * 1000) / count).toFixed(1)} ms of processor time in Node per package; peak memory ${Math.round(Number(peak) / 1024)} MiB`,
    )
  } finally {
    await service.stop()
  }
  if (values.peers === 'yes') {
    for (const peer of peersFor(format, join(base, 'peers'))) {
      const started = performance.now()
      peer.fill(files)
      const theirs = performance.now() - started
      console.log(
        `${peer.name} (${peer.version}), in bulk: ${(theirs / 1000).toFixed(1)} s; ours takes ${(ours / theirs).toFixed(1)} times as long`,
      )
    }
  }
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}

/** Processor time of a process, its threads and its system calls: `utime` and `stime` of proc(5), in ticks of 10 ms. */
async function processorSeconds(pid: number | undefined): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
