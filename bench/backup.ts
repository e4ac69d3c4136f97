// Measures a backup of a large pool compared with plain tar, during uploads, and its restore, compared by digest.
// Usage: node bin/with-postgres.mjs npx node bench/backup.ts [--files 1600] [--mib 5] [--large 2]; needs three
// times the size of the pool (10 GB) below TMPDIR.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { createBenchDatabase, quantile } from './database.ts'
import { fill } from './fill.ts'
import { writeDeb } from './large-deb.ts'
import { buildSample } from './samples.ts'
import { startWatched, type Watched } from './watch.ts'

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '1600' },
    mib: { type: 'string', default: '5' },
    large: { type: 'string', default: '2' },
  },
})
const BIN = join(import.meta.dirname, '../bin')

execFileSync(process.execPath, [join(BIN, 'build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-backup-'))
const [from, to] = [await createBenchDatabase(join(base, 'from')), await createBenchDatabase(join(base, 'to'))]
const [reposDir, restored] = [join(base, 'repos'), join(base, 'restored')]
try {
  await fillPool()
  const service = await startWatched(base, { reposDir, databaseUrl: from.url })
  let archive: { filename: string; size_bytes: number; sha256: string; missing: number }
  try {
    await service.during('nothing', () => sleep(10_000))
    const began = performance.now()
    await promisify(execFile)('sh', ['-c', 'tar -cf plain.tar repos/pool; sync plain.tar; rm plain.tar'], { cwd: base })
    console.log(`plain tar of the pool: ${((performance.now() - began) / 1000).toFixed(0)} s`)
    archive = await service.during('backup', () => beside(service, () => service.ask('POST', '/backup')))
  } finally {
    await service.stop()
  }
  console.log(`archive of ${(archive.size_bytes / 1e9).toFixed(1)} GB, ${archive.missing} files missing`)
  await restore(join(reposDir, 'backups', archive.filename))
  await compare()
} finally {
  await from.drop()
  await to.drop()
  await rm(base, { recursive: true, force: true })
}

async function fillPool(): Promise<void> {
  const source = join(base, 'source')
  await mkdir(source)
  const sizes = [
    ...Array.from({ length: Number(values.files) }, () => Number(values.mib)),
    ...Array.from({ length: Number(values.large) }, () => 1024),
  ]
  const files: string[] = []
  for (const [i, mib] of sizes.entries()) {
    const path = join(source, `large-${i}_1.0-1_amd64.deb`)
    await writeDeb(path, `large-${i}`, mib)
    files.push(path)
  }
  // Few at a time, because each is read by a separate stream.
  for (let at = 0; at < files.length; at += 20)
    await fill({ databaseUrl: from.url, reposDir, codename: 'jammy', files: files.slice(at, at + 20) })
  await rm(source, { recursive: true })
}

/** Uploads small packages one after the other while the work runs. */
async function beside<T>(service: Watched, work: () => Promise<T>): Promise<T> {
  let isOver = false
  const took: number[] = []
  const uploading = (async () => {
    for (let i = 0; !isOver; i++) {
      const { bytes, filename } = await buildSample('deb', 500_000 + i)
      const began = performance.now()
      const { status, body } = await service.upload(bytes, filename, { distribution: 'jammy' })
      if (status !== 200 && status !== 201) throw new Error(`upload: ${status} ${JSON.stringify(body)}`)
      took.push(performance.now() - began)
      await sleep(500)
    }
  })()
  const result = await work().finally(() => (isOver = true))
  await uploading
  console.log(
    `${took.length} uploads beside it: median ${quantile(took, 0.5).toFixed(0)} ms, most ${Math.max(...took).toFixed(0)} ms`,
  )
  return result
}

async function restore(archive: string): Promise<void> {
  const began = performance.now()
  const env = { ...process.env, DATABASE_URL: to.url, REPOS_DIR: restored, ENV: 'development' }
  const child = spawn(process.execPath, [join(BIN, 'restore.mjs'), archive], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  let peak = 0
  const sampling = setInterval(() => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    peak = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? peak * 1024) / 1024
  }, 200)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve)).finally(() =>
    clearInterval(sampling),
  )
  if (code !== 0) throw new Error(`restore ended with ${code}`)
  console.log(`restore: ${((performance.now() - began) / 1000).toFixed(0)} s, at most ${peak.toFixed(0)} MiB`)
}

/** Checks that every file of the restored pool is below a directory named after its digest. */
async function compare(): Promise<void> {
  const wanted = await namesBelow(join(reposDir, 'pool'))
  const found = await namesBelow(join(restored, 'pool'))
  let [bytes, wrong] = [0, 0]
  for (const name of found) {
    const path = join(restored, 'pool', name)
    const hash = createHash('sha256')
    await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash)
    if (hash.digest('hex') !== basename(dirname(name))) wrong++
    bytes += (await stat(path)).size
  }
  const lost = wanted.filter((name) => !found.includes(name)).length
  console.log(
    `restored pool: ${found.length} files, ${(bytes / 1e9).toFixed(1)} GB, ${wrong} with another digest; ${lost} of ${wanted.length} files are not in it (uploaded after the backup's moment)`,
  )
}

async function namesBelow(directory: string): Promise<string[]> {
  return (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.deb'))
}
