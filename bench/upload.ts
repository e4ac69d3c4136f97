// Measures throughput and memory of large uploads, and curl sending the same bytes to a Node server that drops them.
// Usage: node bin/with-postgres.mjs npx node bench/upload.ts [--sizes 5,500] [--rounds 3]
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { startService } from '../test/service.ts'
import { createBenchDatabase, median } from './database.ts'
import { writeDeb } from './large-deb.ts'

const { values } = parseArgs({
  options: { sizes: { type: 'string', default: '5,500' }, rounds: { type: 'string', default: '3' } },
})
const run = promisify(execFile)

async function curl(url: string, path: string, ...more: string[]): Promise<number> {
  const started = performance.now()
  await run('curl', [
    '-sS',
    '--fail-with-body',
    '-o',
    '/dev/null',
    ...more,
    '-F',
    `file=@${path}`,
    '-F',
    'distribution=jammy',
    url,
  ])
  return performance.now() - started
}

const rss = async (pid: number, what: 'VmRSS' | 'VmHWM') =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-upload-'))
const sink = createServer((request, response) => request.resume().on('end', () => response.end())).listen(
  0,
  '127.0.0.1',
)
await once(sink, 'listening')
try {
  console.log(
    `${process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'PGlite'}, Node ${process.version}, medians of ${values.rounds}, load ${loadavg()[0]?.toFixed(1)}`,
  )
  for (const mib of values.sizes.split(',').map(Number)) {
    const { url, drop } = await createBenchDatabase(join(base, String(mib)))
    const service = await startService({
      reposDir: join(base, `repos-${mib}`),
      databaseUrl: url,
      env: { REPO_FORMAT: 'apt' },
    })
    try {
      await service.call('PATCH', '/settings/', { validation: { max_upload_size_mb: 2000 } })
      const pid = service.process.pid as number
      const idle = await rss(pid, 'VmRSS')
      const ours: number[] = []
      const theirs: number[] = []
      for (let round = 0; round < Number(values.rounds); round++) {
        const path = join(base, `large-${mib}-${round}.deb`)
        await writeDeb(path, `large-${mib}-${round}`, mib)
        theirs.push(await curl(`http://127.0.0.1:${(sink.address() as AddressInfo).port}/`, path))
        ours.push(await curl(`${service.api}/api/v1/upload/`, path, '-H', `Authorization: Bearer ${service.token}`))
        await rm(path)
      }
      const rate = (times: number[]) => (mib / (median(times) / 1000)).toFixed(0)
      console.log(
        `${mib} MiB: ours ${rate(ours)} MiB/s until served, curl to a sink ${rate(theirs)} MiB/s (${(median(theirs) / median(ours)).toFixed(2)}); memory ${idle.toFixed(0)} MiB idle, peak ${(await rss(pid, 'VmHWM')).toFixed(0)}`,
      )
    } finally {
      await service.stop()
      await drop()
    }
    await rm(join(base, `repos-${mib}`), { recursive: true, force: true })
  }
} finally {
  sink.close()
  await rm(base, { recursive: true, force: true })
}
