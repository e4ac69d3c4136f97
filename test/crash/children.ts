// The child processes of a service with several processes.
import { readFile } from 'node:fs/promises'
import type { ChildProcess } from 'node:child_process'

/** The process numbers of the parent's children with this role. */
export async function childrenOf(parent: ChildProcess, role: 'api' | 'listener'): Promise<number[]> {
  const list = await readFile(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8')
  const pids = list.trim().split(' ').map(Number)
  const roles = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return pids.filter((_, n) => roles[n]?.split('\0').includes(role))
}
