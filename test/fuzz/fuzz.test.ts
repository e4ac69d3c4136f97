// Reads thousands of damaged packages: each is read or refused as invalid, in bounded time and memory.
// The suite runs a few thousand. Commands for a long run and for a single mutant:
//   FUZZ_RUNS=100000 npx vitest run --config vitest.suites.config.ts test/fuzz
//   FUZZ_SEED=1 FUZZ_FROM=4711 FUZZ_RUNS=1 …
import { fork, type ChildProcess } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRandom, mutate } from './mutate.ts'
import { SUBJECTS } from './subjects.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 3000)
const SEED = Number(process.env['FUZZ_SEED'] ?? 1)
const FROM = Number(process.env['FUZZ_FROM'] ?? 0)
/** A read takes milliseconds. On a machine that stalls, processor time grows too. */
const MOST_CPU_MS = 10_000
const HANG_MS = 300_000
/** A slow file is read this many times: if it is really slow, it is slow each time. */
const ATTEMPTS = 5
/** Node with all readers loaded takes 120 MB. A hostile file may take the rest. */
const MOST_RSS_BYTES = 450 * 1024 ** 2

interface Outcome {
  outcome: string
  fault: string | null
  wallMs: number
  cpuMs: number
  peakBytes: number
}

let directory: string
beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'fuzz-'))))
afterAll(() => rm(directory, { recursive: true, force: true }))

it('every subject is a package before it is damaged', async () => {
  const reader = startReader()
  for (const { name, make } of SUBJECTS) {
    const path = join(directory, 'sound')
    await writeFile(path, await make((bytes) => bytes))
    expect([name, (await reader.read(path)).outcome]).toEqual([name, 'package'])
  }
  reader.end()
})

it(
  `each of ${RUNS} damaged packages is read or refused as invalid`,
  async () => {
    const reader = startReader()
    const counts: Record<string, number> = {}
    const slowest = { cpuMs: 0, run: 0, name: '' }
    let peakBytes = 0
    for (let run = FROM; run < FROM + RUNS; run++) {
      const random = createRandom(SEED * 1_000_003 + run)
      const subject = SUBJECTS[run % SUBJECTS.length] as (typeof SUBJECTS)[number]
      const foreign = await other(run)
      const file = await subject.make((bytes) => mutate(bytes, foreign, random))
      const path = join(directory, 'mutant')
      await writeFile(path, file)
      let said = await reader.read(path)
      for (let attempt = 1; attempt < ATTEMPTS && said.cpuMs > MOST_CPU_MS; attempt++) said = await reader.read(path)
      const { outcome, cpuMs } = said
      const which = `run ${run} of seed ${SEED} (${subject.name})`
      if (!['package', 'invalid_package', 'unrecognized'].includes(outcome) || cpuMs > MOST_CPU_MS) {
        const kept = join(tmpdir(), `fuzz-${SEED}-${run}`)
        await copyFile(path, kept)
        throw new Error(
          `${which} took ${Math.round(cpuMs)} ms and ended in ${outcome}; kept as ${kept}\n${said.fault ?? ''}`,
        )
      }
      counts[`${subject.name.slice(0, 3)} ${outcome}`] = (counts[`${subject.name.slice(0, 3)} ${outcome}`] ?? 0) + 1
      if (cpuMs > slowest.cpuMs) Object.assign(slowest, { cpuMs: Math.round(cpuMs), run, name: subject.name })
      peakBytes = Math.max(peakBytes, said.peakBytes)
    }
    reader.end()
    console.log('fuzz', { runs: RUNS, seed: SEED, counts, slowest, peakMb: Math.round(peakBytes / 1024 ** 2) })
    expect(peakBytes).toBeLessThan(MOST_RSS_BYTES)
  },
  RUNS * 1_000 + ATTEMPTS * HANG_MS,
)

const pieces = new Map<number, Promise<Buffer>>()

/** Another undamaged package, chosen by the number of the run, to take foreign pieces from. */
function other(run: number): Promise<Buffer> {
  const index = (run * 7 + 3) % SUBJECTS.length
  if (!pieces.has(index))
    pieces.set(
      index,
      (SUBJECTS[index] as (typeof SUBJECTS)[number]).make((bytes) => bytes),
    )
  return pieces.get(index) as Promise<Buffer>
}

/** Starts a process that reads packages. */
function startReader(): { read(path: string): Promise<Outcome>; end(): void } {
  const child: ChildProcess = fork(join(import.meta.dirname, 'child.mjs'), {
    execArgv: ['--max-old-space-size=256'],
    stdio: 'inherit',
  })
  return {
    read: (path) =>
      new Promise((resolve, reject) => {
        const hang = setTimeout(() => {
          child.kill('SIGKILL')
          reject(new Error(`${path} hangs its reader`))
        }, HANG_MS)
        const died = () => {
          clearTimeout(hang)
          reject(new Error(`${path} ended its reader`))
        }
        child.once('exit', died)
        child.once('message', (said) => {
          clearTimeout(hang)
          child.off('exit', died)
          resolve(said as Outcome)
        })
        child.send({ path })
      }),
    end: () => child.disconnect(),
  }
}
