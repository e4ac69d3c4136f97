// Measures a search of the service log without a match, in 1,000,000 lines: its cost for the service.
// Usage: npx node bench/logs.ts [--lines 1000000]
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startWatched } from './watch.ts'

const { values } = parseArgs({ options: { lines: { type: 'string', default: '1000000' } } })
const LINES = Number(values.lines)
const ROUNDS = 3

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-logs-'))
const reposDir = join(base, 'repos')
try {
  await writeLog()
  const service = await startWatched(base, { reposDir })
  try {
    await service.during('nothing', () => sleep(5_000))
    for (const query of ['q=nowhere', 'level=error', 'q=request&limit=500'])
      await service.during(`${ROUNDS} times /logs?${query}`, async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const { items, complete } = await service.ask('GET', `/logs?${query}`)
          if (round === 0) console.log(`${items.length} entries, ${complete ? 'all' : 'not all'} lines were looked at`)
        }
      })
  } finally {
    await service.stop()
  }
} finally {
  await rm(base, { recursive: true, force: true })
}

/** Writes the log of another machine, with lines like those of requests. */
async function writeLog(): Promise<void> {
  const directory = join(reposDir, 'logs')
  await mkdir(directory, { recursive: true })
  const file = await open(join(directory, 'service-other.log'), 'wx')
  const from = Date.now() - LINES * 100
  for (let at = 0; at < LINES; at += 10_000) {
    const lines = Array.from({ length: Math.min(10_000, LINES - at) }, (_, i) =>
      JSON.stringify({
        ...{ level: 'info', time: new Date(from + (at + i) * 100).toISOString(), name: 'service', msg: 'request' },
        ...{
          request_id: `01J${String(at + i).padStart(23, '0')}`,
          method: 'GET',
          route: '/api/v1/artifacts/',
          status: 200,
        },
        ...{ ms: 12.4, user: `user-${i % 40}`, ip: '192.0.2.7' },
      }),
    )
    await file.writeFile(`${lines.join('\n')}\n`)
  }
  await file.close()
}
