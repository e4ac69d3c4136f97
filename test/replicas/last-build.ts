// The build that landed last, made from the repository's history, for tests that run it together with the present one.
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

/** Whether every package that the last build names is installed here in the same version. */
function runsOnPackagesOf(root: string, directory: string): boolean {
  const [here, there] = [root, directory].map((place): Record<string, string> => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
      devDependencies: Record<string, string>
    }
    return { ...dependencies, ...devDependencies }
  })
  return Object.entries(there!).every(([name, version]) => here![name] === version)
}

/** @returns its directory, in which `dist/main.js` is built */
export async function buildLast(): Promise<{ directory: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'last-build-'))
  const archive = execFileSync('git', ['archive', LAST], { cwd: ROOT, maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
  if (runsOnPackagesOf(ROOT, directory)) symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: directory, stdio: 'ignore' })
  const compiler = join(directory, 'node_modules/typescript/bin/tsc')
  // Its types were checked when it landed.
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], { cwd: directory })
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}
