// How a reader is started: what it may do, and how much.
import type { SpawnOptions } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ReaderOptions {
  /** the module that a reader runs: `dist/run-reader.js`, or the source of it */
  entry: URL
  /** the only directory whose files a reader may read, beside our own code; it must hold no links that lead elsewhere */
  readable: string
  /** of JavaScript objects */
  heapMb?: number
  /** of everything: buffers, WebAssembly and native code too */
  residentMb?: number
}

/** The largest accepted packages need 120 MB of heap. */
const HEAP_MB = 256
/** An idle reader has 75 MB; a dictionary of xz takes 100 MB, a window of zstd 128 MB. */
export const RESIDENT_MB = 640
/** What a reader has mapped and never writes to: room for code, stacks of threads (640 MB, November 2026). */
const UNUSED_MB = 896
/** Of processor time: the end of a reader whose service was killed while it loops. A reader is replaced long before. */
const MOST_CPU_S = 1800

/**
 * The permission model keeps the reader from files, processes, threads and add-ons, and from Node 26 on from the network.
 * Under it are limits of the system, which hold for native code too: no core dumps, no bytes written to files, a largest
 * amount of data and of processor time. A shell sets them, since Node cannot.
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
  // Node asks for the real path of a module: the directory may be a link.
  const real = existsSync(modules) ? realpathSync(modules) : modules
  const mayRead = [code, modules, real, resolve(readable)].map((path) => `${path}/*`)
  const dataKiB = (residentMb + UNUSED_MB) * 1024
  // The shell adds to the empty environment. Where the system refuses a limit, or has a lower one, that is no reason to stop.
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
      // It creates files whatever the permissions are (Node 24 and 26).
      '--no-experimental-sqlite',
      '--no-addons',
      '--disallow-code-generation-from-strings',
      // A signal would start the debugger.
      '--disable-sigusr1',
      '--no-warnings',
      `--max-old-space-size=${heapMb}`,
      main,
    ],
    options: {
      env: {},
      cwd: '/',
      // A process group of its own, which is ended as a whole.
      detached: true,
      // The channel is the fourth.
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    },
  }
}
