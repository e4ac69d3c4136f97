// Other versions of Node than the pinned one, each in a separate directory, because two packages with a `node` command collide.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Kept between runs. @returns the path of the program */
export function otherNode(version: string): string {
  const tools = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse')
  const name = `node-linux-${process.arch}`
  const kept = join(tools, `node-${version}`)
  const program = join(kept, 'node_modules', name, 'bin', 'node')
  if (existsSync(program)) return program
  mkdirSync(tools, { recursive: true })
  const making = mkdtempSync(join(tools, 'making-'))
  execFileSync('npm', ['install', '--silent', '--no-audit', '--prefix', making, `${name}@${version}`], { cwd: making })
  rmSync(kept, { recursive: true, force: true })
  renameSync(making, kept)
  return program
}
