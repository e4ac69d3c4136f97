// The build that landed last, made from the repository's history, for tests that run it beside the present one.
import { execFileSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** Written by hand when a build has landed whose migrations must never change again. */
const LAST = readFileSync(join(import.meta.dirname, 'last-landed'), 'utf8').trim()

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 })

/** False in a clone without history, where the last build cannot be made. */
export const hasHistory = git('rev-parse', '--is-shallow-repository').trim() === 'false'

/** The names and contents of the migrations that the last build has. */
export function landedMigrations(): Map<string, string> {
  const folder = 'src/store/migrations'
  const names = git('ls-tree', '--name-only', `${LAST}:${folder}`).split('\n')
  const numbered = names.filter((name) => /^\d{4}-/.test(name))
  return new Map(numbered.map((name) => [name, git('show', `${LAST}:${folder}/${name}`)]))
}

/** @returns its directory, in which `dist/main.js` is built */
export async function buildLast(): Promise<{ directory: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'last-build-'))
  const archive = execFileSync('git', ['archive', LAST], { cwd: ROOT, maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
  if (git('diff', '--name-only', LAST, '--', 'package-lock.json') === '')
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: directory, stdio: 'ignore' })
  const compiler = join(directory, 'node_modules/typescript/bin/tsc')
  // It was checked when it landed.
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], { cwd: directory })
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}
