// Debian packages that a suite uses: installed when missing, so that no suite is ever skipped because of a missing tool.
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let listsAreFresh = false

/** apt-get does not wait for another one that reads the lists, and suites run at the same time. */
const alone = ['flock', join(tmpdir(), 'gatehouse-apt-get.lock')]

/**
 * Installs the Debian packages if they are missing.
 * @throws Error with the installer's message when it fails
 */
export function need(...packages: string[]): void {
  const missing = packages.filter((name) => !isInstalled(name))
  if (missing.length === 0) return
  if (!listsAreFresh) asRoot(...alone, 'apt-get', 'update')
  listsAreFresh = true
  asRoot(...alone, 'apt-get', '-o', 'DPkg::Lock::Timeout=300', 'install', '-y', '--no-install-recommends', ...missing)
  const stillMissing = missing.filter((name) => !isInstalled(name))
  if (stillMissing.length > 0) throw new Error(`apt-get install left out ${stillMissing.join(' ')}`)
}

function isInstalled(name: string): boolean {
  const { status, stdout, error } = spawnSync('dpkg-query', ['-W', '-f', '${db:Status-Status}', name])
  if (error) throw new Error(`this suite needs the Debian packages of a Debian machine: ${error.message}`)
  return status === 0 && String(stdout) === 'installed'
}

function asRoot(...command: string[]): void {
  const environment = ['env', 'DEBIAN_FRONTEND=noninteractive']
  const [program, ...args] =
    process.getuid?.() === 0 ? [...environment, ...command] : ['sudo', '-n', ...environment, ...command]
  const { status, stdout, stderr, error } = spawnSync(program as string, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  })
  if (error || status !== 0) {
    throw new Error(
      `${command.join(' ')} failed${error ? `: ${error.message}` : ` with ${status}`}\n${stdout}${stderr}`,
    )
  }
}

/** Downloads Debian packages of this machine's distribution into a directory. */
export function downloadDebs(directory: string, names: readonly string[]): void {
  const download = () =>
    spawnSync('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', ...names], { cwd: directory, encoding: 'utf8' })
  if (download().status === 0) return
  // Nothing is found without lists, or with old ones.
  asRoot('apt-get', 'update')
  const { status, stderr } = download()
  if (status !== 0) throw new Error(`apt-get download failed with ${status}\n${stderr}`)
}
