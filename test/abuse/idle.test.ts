// The memory of a service without users.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTarget, type Target } from './harness.ts'

const MOST_IDLE_MB = 300

let target: Target
beforeAll(async () => {
  target = await startTarget('embedded')
})
afterAll(() => target.remove())

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test(`the service with a new embedded database idles under ${MOST_IDLE_MB} MB`, async () => {
  const { pid } = target.process
  // The thread that created the database is replaced after 15 s without callers.
  await expect.poll(() => residentMb(pid as number), { interval: 1000 }).toBeLessThan(MOST_IDLE_MB)
})
