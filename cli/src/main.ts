#!/usr/bin/env node
// The command: the only file that touches the process.
import { run } from './run.ts'

declare const VERSION: string

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // After a second interruption, nobody wants to wait.
    if (interrupted.signal.aborted) process.exit(130)
    interrupted.abort()
  })
// It is no failure when a reader such as `head` stops reading.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const { stdin, stdout, stderr, env, argv } = process
const exit = await run(argv.slice(2), { stdin, stdout, stderr, env, version: VERSION, signal: interrupted.signal })
// Idle connections must not keep the process running, but all output must arrive first.
stdout.write('', () => stderr.write('', () => process.exit(exit)))
