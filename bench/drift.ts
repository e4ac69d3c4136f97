// Measures a drift scan over many published packages, a few of them damaged, with requests at the same time. The second scan
// compares the digests that the first did not reach.
// Usage: npx node bench/drift.ts [--packages 100000]; PostgreSQL with bin/with-postgres.mjs
import { execFileSync } from 'node:child_process'
import { mkdtemp, open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { openDatabase } from '../src/store/db.ts'
import { createBenchDatabase } from './database.ts'
import { fill } from './fill.ts'
import { writeSamples } from './samples.ts'
import { startWatched, type Watched } from './watch.ts'

const { values } = parseArgs({ options: { packages: { type: 'string', default: '100000' } } })
const PACKAGES = Number(values.packages)
const DAMAGED = 5
const BATCH = 5000

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-drift-'))
const { url, drop } = await createBenchDatabase(base)
const reposDir = join(base, 'repos')
try {
  await fillPackages()
  const service = await startWatched(base, { reposDir, databaseUrl: url })
  try {
    await published(service)
    await service.during('nothing', () => sleep(10_000))
    console.log(await service.during('scan', () => scan(service)))
    await damage()
    console.log(await service.during('scan with damaged files', () => scan(service)))
    const { body } = await service.call('GET', '/artifacts/admin/drift?per_page=50')
    const faults = body.items.map(({ area, fault }: { area: string; fault: string }) => `${area} ${fault}`)
    console.log(
      `${DAMAGED} files of the pool were damaged; open findings: ${body.total}, ${[...new Set(faults)].join(', ')}`,
    )
  } finally {
    await service.stop()
  }
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}

async function fillPackages(): Promise<void> {
  const source = join(base, 'source')
  for (let at = 0; at < PACKAGES; at += BATCH) {
    const files = await writeSamples('deb', source, at, Math.min(BATCH, PACKAGES - at))
    await fill({ databaseUrl: url, reposDir, codename: 'jammy', files })
    await rm(source, { recursive: true })
  }
  const { db, close } = await openDatabase(url)
  await sql`update packages set manifest_changes = 0`.execute(db)
  await close()
}

/** Waits until the service has published everything and written its manifests: then a scan finds nothing. */
async function published(service: Watched): Promise<void> {
  const began = performance.now()
  const index = `${service.apt}/repos/dists/jammy/main/binary-amd64/Packages.gz`
  const manifests = join(reposDir, 'manifests')
  for (;;) {
    const isIndexed = (await fetch(index)).ok
    const written = (await readdir(manifests, { recursive: true })).filter((name) => name.endsWith('.json')).length
    if (isIndexed && written >= PACKAGES) break
    await sleep(2000)
  }
  console.log(`published, with manifests, after ${((performance.now() - began) / 1000).toFixed(0)} s`)
}

async function scan(service: Watched): Promise<string> {
  const { task_id } = await service.ask('POST', '/artifacts/admin/drift-scan')
  for (;;) {
    const { body } = await service.call('GET', `/tasks/${task_id}`)
    if (body.state === 'done') return JSON.stringify(body.result)
    if (['failed', 'cancelled'].includes(body.state)) throw new Error(JSON.stringify(body))
    await sleep(200)
  }
}

/** Changes one byte of some files of the pool, as a disk would: size and times stay. */
async function damage(): Promise<void> {
  const pool = join(reposDir, 'pool')
  const names = (await readdir(pool, { recursive: true })).filter((name) => name.endsWith('.deb')).sort()
  for (let i = 0; i < DAMAGED; i++) {
    const path = join(pool, names[Math.floor((names.length * (i + 0.5)) / DAMAGED)]!)
    const { size, atime, mtime } = await stat(path)
    const file = await open(path, 'r+')
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 100)
    buffer[0]! ^= 1
    await file.write(buffer, 0, 1, size - 100)
    await file.close()
    await utimes(path, atime, mtime)
  }
}
