// Runs before the suites that start the service as a process: builds it from the current sources.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export function setup(): void {
  execFileSync(process.execPath, [join(import.meta.dirname, '..', 'bin', 'build.mjs')], { stdio: 'inherit' })
}
