// Before the suites that run the service as a process: what they start is built from the sources as they are.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export function setup(): void {
  execFileSync(process.execPath, [join(import.meta.dirname, '..', 'bin', 'build.mjs')], { stdio: 'inherit' })
}
