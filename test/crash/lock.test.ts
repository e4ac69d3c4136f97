// Processes that compete for the directory of an embedded database: it never has two owners, and a dead one loses it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { lockDirectory } from '../../src/store/pglite/lock.ts'

const LOCK = join(import.meta.dirname, '..', '..', 'dist', 'store', 'pglite', 'lock.js')
const PROCESSES = 6
/** How often each process takes the lock. */
const TURNS = 20

/** Takes and releases the lock repeatedly. A second owner fails to create the directory `owned`. */
const CHILD = `
  import { mkdirSync, rmdirSync } from 'node:fs'
  import { setTimeout } from 'node:timers/promises'
  const { lockDirectory } = await import(${JSON.stringify(LOCK)})
  const [directory, owned] = process.argv.slice(1)
  for (let taken = 0; taken < ${TURNS}; ) {
    const release = await lockDirectory(directory).catch(() => null)
    if (!release) continue
    taken++
    mkdirSync(owned)
    await setTimeout(Math.random() * 5)
    rmdirSync(owned)
    await release()
  }
`

it('one process at a time owns the directory, while lock files of dead processes appear', async () => {
  const base = await mkdtemp(join(tmpdir(), 'gatehouse-race-'))
  const directory = join(base, 'db')
  const children = Array.from({ length: PROCESSES }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', CHILD, directory, join(base, 'owned')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    }),
  )
  let running = true as boolean
  const stale = (async () => {
    for (let n = 0; running; n++) {
      await writeFile(join(directory, `gatehouse.lock.${n}`), '999999999 1\n').catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  })()
  const ends = await Promise.all(
    children.map(async (child) => {
      const [code] = (await once(child, 'close')) as [number | null]
      return code
    }),
  )
  running = false
  await stale
  expect(ends).toEqual(children.map(() => 0))
  expect((await readdir(directory)).filter((name) => !/^gatehouse\.lock\.\d+$/.test(name))).toEqual([])
  await rm(base, { recursive: true })
})

it('a process of another container is seen, which has a number of its own', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-space-'))
  const hold = `
    const { lockDirectory } = await import(${JSON.stringify(LOCK)})
    const release = await lockDirectory(${JSON.stringify(directory)})
    console.log('held by', process.pid)
    process.stdin.resume().on('end', async () => { await release() })
  `
  const contained = ['--pid', '--fork', '--mount-proc', process.execPath, '--input-type=module', '-e', hold]
  const container = spawn('unshare', contained, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(container, 'close')
  try {
    const [line] = (await once(createInterface({ input: container.stdout }), 'line')) as [string]
    expect(line).toBe('held by 1')
    await expect(lockDirectory(directory)).rejects.toThrow(/in use by process 1 of another container or machine/)
    container.stdin.end()
    expect(await ended).toEqual([0, null])
    await (
      await lockDirectory(directory)
    )()
    expect(await readdir(directory)).toEqual([])
  } finally {
    container.kill('SIGKILL')
    await rm(directory, { recursive: true })
  }
})
