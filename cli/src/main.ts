#!/usr/bin/env node
// The command: the only file that touches the process.
import { EXITS } from './exits.ts'
import { run } from './run.ts'

declare const VERSION: string

/** How long a command may take to remove what is half done, such as a partial file, after a signal. */
const CLEANUP_MS = 500
const SIGNALS = { SIGINT: EXITS.interrupted, SIGTERM: EXITS.terminated } as const

const interrupted = new AbortController()
let ended: number | null = null
for (const [signal, code] of Object.entries(SIGNALS))
  process.on(signal, () => {
    // After a second signal, nobody wants to wait.
    if (ended !== null) process.exit(code)
    ended = code
    interrupted.abort()
    // One signal ends every command, also one that waits for something that cannot be aborted.
    setTimeout(() => process.exit(code), CLEANUP_MS)
  })
// It is no failure when a reader such as `head` stops reading.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const { stdin, stdout, stderr, env, argv, versions } = process
const about = { version: VERSION, node: versions.node, signal: interrupted.signal }
const exit = await run(argv.slice(2), { stdin, stdout, stderr, env, ...about })
// Idle connections must not keep the process running, but all output must arrive first.
stdout.write('', () => stderr.write('', () => process.exit(exit === EXITS.done ? exit : (ended ?? exit))))
