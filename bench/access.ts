// Measures what it costs that package clients sign in: the facts of 20,000 machines, written and read, and a request.
// Usage: npx node bench/access.ts [--machines 20000]
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { createFactsWriter } from '../src/accounts/readers/facts-writer.ts'
import { systemClock as clock } from '../src/kernel/clock.ts'
import { createLog } from '../src/kernel/log.ts'
import { digestsOf } from '../src/serve/access/credentials.ts'
import { newFactsKey, publicFactsKey } from '../src/serve/access/facts.ts'
import { createKnownAccess } from '../src/serve/access/known-access.ts'
import { migrate, openDatabase } from '../src/store/db.ts'
import { createBenchDatabase, median } from './database.ts'

const { values } = parseArgs({ options: { machines: { type: 'string', default: '20000' } } })
const MACHINES = Number(values.machines)
const ROUNDS = 9

const base = await mkdtemp(join(tmpdir(), 'bench-access-'))
const database = await createBenchDatabase(base)
const { db, close } = await openDatabase(database.url, { onError: console.error })
try {
  await migrate(db)
  for (let at = 0; at < 20; at++) {
    const codename = `place-${at}`
    await db.insertInto('distributions').values({ codename, format: 'deb', definition: '{}', private: true }).execute()
    const reader = { place: codename, kind: 'tag' as const, name: `tag-${at}`, created_at: new Date(), created_by: 'x' }
    await db.insertInto('readers').values(reader).execute()
  }
  await sql`insert into machines (name, tags, rights, token_hash, token_hint, created_at, created_by)
    select 'machine-' || n, array['tag-' || n % 20, 'tag-' || n % 7], '{read}', encode(sha256(n::text::bytea), 'hex'), 'abcd', now(), 'x'
    from generate_series(1, ${MACHINES}::int) n`.execute(db)

  const privateKey = newFactsKey()
  const directory = join(base, 'access')
  const keyPath = join(base, 'access.pub')
  await mkdir(directory)
  await writeFile(keyPath, publicFactsKey(privateKey))
  const settings = () => ({ ldap: {}, oidc: {} }) as never
  const writer = createFactsWriter({ db, clock, settings, directory, privateKey, onError: console.error })
  const known = () => createKnownAccess({ directory, keyPath, clock, log: createLog('silent'), hours: 24 })

  report('writing after a change', await timed(ROUNDS, () => writer.write()))
  report('looking for changes', await timed(ROUNDS, () => writer.writeDue()))
  const name = (await readdir(directory)).find((one) => one.startsWith('facts-'))!
  console.log(`facts: ${((await stat(join(directory, name))).size / 1e6).toFixed(2)} MB`)
  report('a listener reads them', await timed(ROUNDS, () => known().look()))
  const listener = known()
  await listener.look()
  report('a listener looks, nothing is new', await timed(ROUNDS, () => listener.look()))
  const header = `Basic ${Buffer.from(`machine:svcm_${'a'.repeat(43)}`).toString('base64')}`
  const began = performance.now()
  for (let n = 0; n < 100_000; n++) listener.byToken(digestsOf(header))
  console.log(`a credential: ${((performance.now() - began) / 100).toFixed(2)} µs`)
} finally {
  await close()
  await database.drop()
  await rm(base, { recursive: true, force: true })
}

/** @returns wall and processor time of each round, in ms */
async function timed(rounds: number, work: () => Promise<unknown>): Promise<{ wall: number[]; cpu: number[] }> {
  const wall: number[] = []
  const cpu: number[] = []
  for (let round = 0; round < rounds; round++) {
    const [began, before] = [performance.now(), process.cpuUsage()]
    await work()
    const { user, system } = process.cpuUsage(before)
    wall.push(performance.now() - began)
    cpu.push((user + system) / 1000)
  }
  return { wall, cpu }
}

function report(what: string, { wall, cpu }: { wall: number[]; cpu: number[] }): void {
  console.log(`${what}: ${median(wall).toFixed(1)} ms, ${median(cpu).toFixed(1)} ms of processor time (medians)`)
}
