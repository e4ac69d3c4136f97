// A temporary copy of this machine, or of another root: an overlay of its file system, where packages are installed and run.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface Machine {
  /** Runs a shell script as its root. @throws with the output when it fails */
  run(script: string, env?: Record<string, string>): string
  /** Writes a file as root, and creates missing directories. */
  write(path: string, text: string): void
  /** Where the file is seen from outside. */
  at(path: string): string
  /** Starts a shell script as its root; the script's processes end when it is killed. */
  start(script: string): ChildProcess
  /** Undoes everything. */
  remove(): void
}

/**
 * Needs root, to mount an overlay. Network and processes are those of this machine.
 * @param below the copied file system; by default this machine's
 */
export function createMachine(below = '/'): Machine {
  const base = mkdtempSync(join(tmpdir(), 'machine-'))
  const [upper, work, root] = ['upper', 'work', 'root'].map((name) => join(base, name)) as [string, string, string]
  for (const directory of [upper, work, root]) mkdirSync(directory)
  // Other users need access to its root.
  chmodSync(upper, 0o755)
  const mounts = [
    ['-t', 'overlay', 'overlay', '-o', `lowerdir=${below},upperdir=${upper},workdir=${work}`, root],
    // An overlay contains no other mounted file systems.
    ['--rbind', '/dev', join(root, 'dev')],
    ['-t', 'proc', 'proc', join(root, 'proc')],
    ['-t', 'tmpfs', 'tmpfs', join(root, 'tmp')],
    ['-t', 'tmpfs', 'tmpfs', join(root, 'run')],
  ]
  for (const mount of mounts) must('mount', ...mount)
  must('mount', '--make-rslave', join(root, 'dev'))
  const inside = (script: string) => ['chroot', root, '/bin/sh', '-euc', script]
  const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' }
  return {
    run(script, env = {}) {
      const [program, ...args] = inside(script)
      const { status, stdout, stderr } = spawnSync(program!, args, {
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
        env: { ...environment, DEBIAN_FRONTEND: 'noninteractive', ...env },
      })
      if (status !== 0) throw new Error(`the script ended with ${status}:\n${script}\n${stdout}${stderr}`)
      return stdout
    },
    write(path, text) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    },
    at: (path) => join(root, path),
    start(script) {
      const [program, ...args] = inside(script)
      return spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment })
    },
    remove() {
      // Innermost first; lazily, because a process of the script may still be ending.
      for (const mount of mounts.toReversed()) must('umount', '-l', mount.at(-1)!)
      rmSync(base, { recursive: true, force: true })
    },
  }
}

function must(program: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  if (error || status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr}`)
}
