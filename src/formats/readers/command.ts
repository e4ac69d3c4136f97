// The command that starts a reader, with its permissions and limits.
import type { SpawnOptions } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ReaderOptions {
  /** the module that a reader runs: `dist/run-reader.js`, or the source of it */
  entry: URL
  /** the only directory, besides our own code, whose files a reader may read; it must not contain links that lead elsewhere */
  readable: string
  /** memory for JavaScript objects */
  heapMb?: number
  /** all memory: buffers, WebAssembly and native code too */
  residentMb?: number
}

/** The largest accepted packages need 120 MB of heap. */
const HEAP_MB = 256
/** The young generation, three times. Node takes 32 MB; with 4 a list of 40 MB takes 40 MB less, in the same time (November 2026). */
const SEMI_SPACE_MB = 4
/** An idle reader has 75 MB; a dictionary of xz takes 100 MB, a window of zstd 128 MB. */
export const RESIDENT_MB = 640
/** Memory that a reader maps and never writes to: room for code, stacks of threads (640 MB, November 2026). */
const UNUSED_MB = 896
/** Processor time. It ends a looping reader whose service was killed; other readers are replaced long before. */
const MOST_CPU_S = 1800

/**
 * The permission model denies the reader files, processes, threads and add-ons, and from Node 26 on the network. System
 * limits apply to native code too: no core dumps, no bytes written to files, bounded data and processor time. A shell sets
 * them, because Node cannot.
 */
export function readerCommand({ entry, readable, heapMb = HEAP_MB, residentMb = RESIDENT_MB }: ReaderOptions): {
  file: string
  args: string[]
  options: SpawnOptions
} {
  const main = realpathSync(fileURLToPath(entry))
  const code = dirname(main)
  const project = dirname(code)
  const modules = join(project, 'node_modules')
  // Node resolves the real path of a module, and the directory may be a link.
  const real = existsSync(modules) ? realpathSync(modules) : modules
  const mayRead = [code, modules, real, resolve(readable)].map((path) => `${path}/*`)
  const dataKiB = (residentMb + UNUSED_MB) * 1024
  // `unset` removes what the shell adds to the empty environment. A limit that the system refuses, or has lower, is ignored.
  const limits = [`-c 0`, `-f 0`, `-t ${MOST_CPU_S}`, `-d ${dataKiB}`].map((limit) => `ulimit ${limit} 2>/dev/null;`)
  // When memory runs out, the kernel ends a reader, not the service (proc(5), oom_score_adj).
  const first = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj;'
  const script = `unset PWD OLDPWD SHLVL _; ${first} ${limits.join(' ')} exec "$0" "$@"`
  return {
    file: '/bin/sh',
    args: [
      ...['-c', script, process.execPath],
      '--permission',
      ...[...mayRead, join(project, 'package.json')].map((path) => `--allow-fs-read=${path}`),
      // SQLite creates files regardless of the permissions (Node 24 and 26).
      '--no-experimental-sqlite',
      '--no-addons',
      '--disallow-code-generation-from-strings',
      // A signal would start the debugger.
      '--disable-sigusr1',
      '--no-warnings',
      `--max-old-space-size=${heapMb}`,
      `--max-semi-space-size=${SEMI_SPACE_MB}`,
      main,
    ],
    options: {
      env: {},
      cwd: '/',
      // Its own process group, so that it is ended as a whole.
      detached: true,
      // The channel is the fourth.
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    },
  }
}
