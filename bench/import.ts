// Measures an import of many small packages from a local upstream until all are served, and the mirrors of peers for it.
// Usage: node bin/with-postgres.mjs npx node bench/import.ts [--packages 10000] [--peers yes]
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { freePort } from '../test/ports.ts'
import { startService } from '../test/service.ts'
import { createBenchDatabase } from './database.ts'
import { mirrorsFor } from './peers.ts'
import { writeSamples } from './samples.ts'

const CODENAME = 'jammy'
/** Directories that nginx needs and nobody else creates. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

const { values } = parseArgs({
  options: {
    packages: { type: 'string', default: '10000' },
    peers: { type: 'string', default: 'yes' },
  },
})
const count = Number(values.packages)

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-import-'))
const { url, drop } = await createBenchDatabase(base)
const upstream = await startUpstream(join(base, 'upstream'))
try {
  console.log(
    `${count} deb packages, ${process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'PGlite'}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`,
  )
  const ours = await measureOurs()
  if (values.peers === 'yes') {
    for (const peer of mirrorsFor(join(base, 'peers'), upstream.url, CODENAME)) {
      const started = performance.now()
      peer.run()
      const theirs = performance.now() - started
      console.log(
        `${peer.name} (${peer.version}): ${(theirs / 1000).toFixed(1)} s; ours takes ${(ours / theirs).toFixed(2)} times as long`,
      )
    }
  }
} finally {
  upstream.stop()
  await drop()
  await rm(base, { recursive: true, force: true })
}

/** @returns milliseconds from the first request to the upstream until all packages are served */
async function measureOurs(): Promise<number> {
  const service = await startService({ reposDir: join(base, 'repos'), databaseUrl: url, env: { REPO_FORMAT: 'apt' } })
  try {
    const before = await processorSeconds(service.process.pid)
    const started = performance.now()
    const { body: source } = await service.call('POST', '/import/sources', {
      ...{ name: 'bench', type: 'apt', url: upstream.url, distribution: CODENAME, components: ['main'] },
      allow_unsigned: true,
    })
    const reply = await fetch(`${service.api}/api/v1/import/sources/${source.id}/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}` },
    })
    if (!(await reply.text()).includes('"status":"done"')) throw new Error('the sync failed')
    const synced = performance.now()
    const { body: job } = await service.call('POST', '/import/bulk', {
      ...{ source_id: source.id, distribution: CODENAME },
      packages: upstream.names,
    })
    let ended
    do {
      await new Promise((resolve) => setTimeout(resolve, 100))
      ended = (await service.call('GET', `/import/bulk/${job.job_id}`)).body
    } while (ended.status === 'running')
    const took = performance.now() - started
    if (ended.counts?.added !== count) throw new Error(JSON.stringify(ended).slice(0, 2000))
    const index = await (await fetch(`${service.apt}/repos/dists/${CODENAME}/main/binary-amd64/Packages`)).text()
    const listed = index.match(/^Package: /gm)?.length
    if (listed !== count) throw new Error(`${listed} of ${count} packages are served`)
    const busy = (await processorSeconds(service.process.pid)) - before
    const publishes = service.log.filter((entry) => typeof entry === 'object' && entry['msg'] === 'published').length
    const peak = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${service.process.pid}/status`, 'utf8'))?.[1]
    console.log(
      `ours: ${(took / 1000).toFixed(1)} s, of which the sync ${((synced - started) / 1000).toFixed(1)} s; ${(count / (took / 1000)).toFixed(0)} packages/s; ${publishes} publishes; ${((busy * 1000) / count).toFixed(1)} ms of processor time in Node per package; peak memory ${Math.round(Number(peak) / 1024)} MiB`,
    )
    return took
  } finally {
    await service.stop()
  }
}

/** An apt repository of samples, served by nginx. */
async function startUpstream(directory: string) {
  const files = await writeSamples('deb', join(directory, 'pool'), 0, count)
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: directory, maxBuffer: 1 << 30, encoding: 'utf8' })
  const packages = run('apt-ftparchive', 'packages', 'pool')
  const below = join(directory, 'dists', CODENAME, 'main', 'binary-amd64')
  await mkdir(below, { recursive: true })
  const release: string[] = []
  for (const [name, content] of [
    ['Packages', Buffer.from(packages)],
    ['Packages.gz', gzipSync(packages)],
  ] as const) {
    await writeFile(join(below, name), content)
    const sha256 = createHash('sha256').update(content).digest('hex')
    release.push(` ${sha256} ${content.length} main/binary-amd64/${name}`)
  }
  await writeFile(
    join(directory, 'dists', CODENAME, 'Release'),
    [
      ...[`Origin: bench`, `Suite: ${CODENAME}`, `Codename: ${CODENAME}`, `Date: ${new Date().toUTCString()}`],
      ...['Architectures: amd64', 'Components: main', 'SHA256:', ...release, ''],
    ].join('\n'),
  )
  const port = await freePort()
  const config = join(base, 'nginx.conf')
  await writeFile(
    config,
    `daemon off; pid ${base}/nginx.pid; error_log stderr; worker_processes 1; user root; events { worker_connections 256; }
http { access_log off; sendfile on; keepalive_requests 100000; ${TEMPORARY.map((name) => `${name}_temp_path ${base}/${name};`).join(' ')}
server { listen 127.0.0.1:${port}; root ${directory}; } }`,
  )
  const server = spawn('nginx', ['-c', config, '-e', 'stderr'], { stdio: ['ignore', 'inherit', 'inherit'] })
  const names = files.map((path) => /([^/_]+)_[^/]*$/.exec(path)?.[1] ?? '')
  return { url: `http://127.0.0.1:${port}/`, names, stop: () => server.kill() }
}

/** Processor time of a process, its threads and its system calls: `utime` and `stime` of proc(5), in ticks of 10 ms. */
async function processorSeconds(pid: number | undefined): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
