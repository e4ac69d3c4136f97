// Measures one upload to a repository of N packages until clients can download the signed index, and the same with peers.
// Usage: node bin/with-postgres.mjs npx node bench/publish.ts [--format deb] [--sizes 1000,10000,50000] [--rounds 9] [--peers yes] [--architectures 1]
// TEST_DATABASE_URL names the database server; without it the embedded database is used.
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { FormatId } from '../test/formats.ts'
import { formatOf } from '../src/formats/index.ts'
import { startService, type Service } from '../test/service.ts'
import { createBenchDatabase, median } from './database.ts'
import { fill } from './fill.ts'
import { peersFor } from './peers.ts'
import { writeSamples } from './samples.ts'

const CODENAMES: Record<FormatId, string> = { deb: 'jammy', rpm: 'almalinux9', apk: 'alpine3.21' }
/** URLs of the files that change with each publish. */
const INDEX: Record<FormatId, (service: Service) => string> = {
  deb: (service) => `${service.apt}/repos/dists/jammy/InRelease`,
  rpm: (service) => `${service.rpm}/repos/almalinux9/x86_64/repodata/repomd.xml`,
  apk: (service) => `${service.apt}/apk/alpine3.21/main/x86_64/APKINDEX.tar.gz`,
}

const { values } = parseArgs({
  options: {
    format: { type: 'string', default: 'deb' },
    sizes: { type: 'string', default: '1000,10000,50000' },
    rounds: { type: 'string', default: '9' },
    peers: { type: 'string', default: 'yes' },
    /** number of architectures of the distribution, each with the same number of packages; uploads are for the first */
    architectures: { type: 'string', default: '1' },
  },
})
const format = values.format as FormatId
const architectures = ['amd64', 'arm64', 'ppc64el', 's390x'].slice(0, Number(values.architectures))
const rounds = Number(values.rounds)

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
console.log(
  `format ${format}, Node ${process.version}, ${process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'PGlite'}, ${architectures.length} architectures, medians of ${rounds}, load ${loadavg()[0]?.toFixed(1)}`,
)
for (const size of values.sizes.split(',').map(Number)) {
  const base = await mkdtemp(join(tmpdir(), 'bench-publish-'))
  try {
    await compare(base, size)
  } finally {
    await rm(base, { recursive: true, force: true })
  }
}

async function compare(base: string, size: number): Promise<void> {
  const stock: string[] = []
  for (const [n, name] of architectures.entries()) {
    const arch = formatOf(format).architectures[name]
    stock.push(...(await writeSamples(format, join(base, `stock-${name}`), n === 0 ? 0 : n * 1_000_000, size, arch)))
  }
  const fresh = await writeSamples(format, join(base, 'fresh'), size, rounds + 1)
  const ours = await measureOurs(base, stock, fresh)
  console.log(`\nN = ${size}`)
  console.log(
    `  ours: publish stage ${show(ours.stage)}, upload to served ${show(ours.upload)}, first publish after a restart ${show(ours.cold)}, peak memory ${ours.peakMb} MiB`,
  )
  if (values.peers !== 'yes') return
  for (const peer of peersFor(format, join(base, 'peers'))) {
    const filled = timed(() => peer.fill(stock))
    const times = fresh.map((file) => timed(() => peer.add(file))).slice(1)
    const theirs = median(times)
    console.log(
      `  ${peer.name} (${peer.version}): add to published ${show(theirs)}, filled in ${(filled / 1000).toFixed(0)} s; upload to served ${(theirs / ours.upload).toFixed(1)} times, publish stage ${(theirs / ours.stage).toFixed(1)} times faster`,
    )
  }
}

async function measureOurs(base: string, stock: string[], fresh: string[]) {
  const reposDir = join(base, 'repos')
  const { url: databaseUrl, drop } = await createBenchDatabase(base)
  const codename = CODENAMES[format]
  try {
    await fill({ databaseUrl, reposDir, codename, files: stock })
    // The first start publishes the existing packages, the second one is measured.
    const env = { REPO_FORMAT: 'all', SVC_ARCHITECTURES: architectures.join(',') }
    await (await startService({ reposDir, databaseUrl, env })).stop()
    const service = await startService({ reposDir, databaseUrl, env })
    try {
      const uploads: number[] = []
      for (const [i, path] of fresh.entries()) {
        const bytes = await readFile(path)
        const before = await fetch(INDEX[format](service)).then((response) => response.text())
        const started = performance.now()
        const { status, body } = await service.upload(bytes, path.split('/').at(-1) as string, {
          distribution: codename,
        })
        const took = performance.now() - started
        if (status !== 201 || body.status !== 'published')
          throw new Error(`upload ${i}: ${status} ${JSON.stringify(body)}`)
        const after = await fetch(INDEX[format](service)).then((response) => response.text())
        if (after === before) throw new Error('the index did not change')
        uploads.push(took)
      }
      const stages = service.log.flatMap((entry) =>
        typeof entry === 'object' && entry['msg'] === 'published' ? [entry['milliseconds'] as number] : [],
      )
      const status = await readFile(`/proc/${service.process.pid}/status`, 'utf8')
      return {
        cold: stages[0] as number,
        stage: median(stages.slice(1)),
        upload: median(uploads.slice(1)),
        peakMb: Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024),
      }
    } finally {
      await service.stop()
    }
  } finally {
    await drop()
  }
}

function timed(work: () => void): number {
  const started = performance.now()
  work()
  return performance.now() - started
}

function show(milliseconds: number): string {
  return `${milliseconds.toFixed(0)} ms`
}
