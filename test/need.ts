// Debian packages that a suite uses: installed when they are missing, so that no suite is ever skipped for want of a tool.
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let listsAreFresh = false

/** apt-get does not wait for another that reads the lists, and suites run beside each other. */
const alone = ['flock', join(tmpdir(), 'gatehouse-apt-get.lock')]

/**
 * Makes sure that the Debian packages are installed.
 * @throws Error with the installer's own words when they cannot be
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
  // Without lists, or with old ones, nothing is found.
  asRoot('apt-get', 'update')
  const { status, stderr } = download()
  if (status !== 0) throw new Error(`apt-get download failed with ${status}\n${stderr}`)
}
