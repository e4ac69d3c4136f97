#!/usr/bin/env node
// The command: the one file that touches the process.
import { run } from './run.ts'

declare const VERSION: string

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // The second time nobody wants to wait.
    if (interrupted.signal.aborted) process.exit(130)
    interrupted.abort()
  })
// A reader that has enough, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const { stdin, stdout, stderr, env, argv } = process
const exit = await run(argv.slice(2), { stdin, stdout, stderr, env, version: VERSION, signal: interrupted.signal })
// Connections that are kept for another request must not keep the process; what was printed must arrive.
stdout.write('', () => stderr.write('', () => process.exit(exit)))
