// Measures throughput and memory of large uploads, and curl sending the same bytes to a Node server that drops them.
// Usage: node bin/with-postgres.mjs node --import ./bench/typescript.mjs bench/upload.ts [--sizes 5,500] [--rounds 3]
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { controlText } from '../test/samples/deb.ts'
import { buildTar, tarEntry } from '../test/samples/tar.ts'
import { startService } from '../test/service.ts'
import { createBenchDatabase, median } from './database.ts'

const { values } = parseArgs({
  options: { sizes: { type: 'string', default: '5,500' }, rounds: { type: 'string', default: '3' } },
})
const run = promisify(execFile)
const MIB = 1 << 20

/** Writes a deb with uncompressed random data, so that network and disk are measured without decompression. */
async function writeDeb(path: string, name: string, mib: number): Promise<void> {
  const out = createWriteStream(path)
  const write = async (bytes: Uint8Array) => {
    if (!out.write(bytes)) await once(out, 'drain')
  }
  const member = (file: string, size: number) =>
    Buffer.from(
      `${file.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(size).padEnd(10)}\`\n`,
    )
  const control = gzipSync(
    buildTar([{ name: './' }, { name: './control', content: controlText({ name, version: '1.0-1' }) }]),
  )
  const content = mib * MIB
  const head = tarEntry({ name: './payload', content: new Uint8Array(0) })
  head.write(content.toString(8).padStart(11, '0'), 124, 'latin1')
  head.fill(' ', 148, 156)
  head.write(
    `${head
      .subarray(0, 512)
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    'latin1',
  )
  await write(
    Buffer.concat([
      Buffer.from('!<arch>\n'),
      member('debian-binary', 4),
      Buffer.from('2.0\n'),
      member('control.tar.gz', control.length),
      control,
      Buffer.alloc(control.length % 2, '\n'),
    ]),
  )
  await write(member('data.tar', 512 + content + 1024))
  await write(head.subarray(0, 512))
  for (let i = 0; i < mib; i++) await write(randomBytes(MIB))
  await write(Buffer.alloc(1024))
  out.end()
  await once(out, 'finish')
}

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
