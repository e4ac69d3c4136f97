// An isolated apt for tests: its configuration, lists, cache and dpkg database are in one temporary directory. The apt of
// the machine is neither read nor written.
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

export interface AptRootOptions {
  /** URL of the repository, without `dists/…` */
  url: string
  suite: string
  /** the armored public key for Signed-By */
  key: string
  arch?: string
  /** further lines of apt.conf(5) */
  config?: string
}

/** Exit code and combined output of a command. */
export interface CommandResult {
  code: number
  text: string
}

export interface AptRoot {
  directory: string
  /** identifies its requests in an access log */
  userAgent: string
  /** Runs a command with this root's configuration. Never throws because of its exit code. */
  run(...command: string[]): Promise<CommandResult>
  /** Runs `apt-get update` with warnings as errors. */
  update(): Promise<CommandResult>
  /** the versions apt sees, newest first */
  versions(name: string): Promise<string[]>
  /** Runs `apt-get download`. @returns the bytes of the file */
  download(name: string, version?: string): Promise<Buffer>
  /** versions of the packages installed in this root, by name */
  installed(): Promise<Record<string, string>>
  /** the content of apt's list file whose name ends with `suffix` */
  list(suffix: string): Promise<string | null>
  /** Replaces the further lines of apt.conf(5). */
  configure(config: string): Promise<void>
  /** Deletes lists and caches, as before the first update. */
  forget(): Promise<void>
  remove(): Promise<void>
}

export async function createAptRoot({
  url,
  suite,
  key,
  arch = 'amd64',
  config = '',
}: AptRootOptions): Promise<AptRoot> {
  const directory = await mkdtemp(join(tmpdir(), 'apt-root-'))
  const at = (...path: string[]) => join(directory, ...path)
  const userAgent = `Gatehouse test ${basename(directory)}`
  const makeStateDirectories = async () => {
    await mkdir(at('var/lib/apt/lists/partial'), { recursive: true })
    await mkdir(at('var/cache/apt/archives/partial'), { recursive: true })
  }
  await makeStateDirectories()
  for (const path of [
    'etc/apt/apt.conf.d',
    'etc/apt/preferences.d',
    'etc/apt/sources.list.d',
    'etc/apt/trusted.gpg.d',
    'etc/apt/keyrings',
    'var/lib/dpkg/info',
    'var/lib/dpkg/updates',
    'var/log/apt',
    'download',
  ]) {
    await mkdir(at(path), { recursive: true })
  }
  await writeFile(at('var/lib/dpkg/status'), '')
  await writeFile(at('etc/apt/keyrings/repository.asc'), key)
  await writeFile(
    at('etc/apt/sources.list.d/repository.sources'),
    [
      'Types: deb',
      `URIs: ${url}`,
      `Suites: ${suite}`,
      'Components: main',
      `Architectures: ${arch}`,
      `Signed-By: ${at('etc/apt/keyrings/repository.asc')}`,
      '',
    ].join('\n'),
  )
  const configure = (more: string) =>
    writeFile(at('apt.conf'), configuration(directory, arch, `Acquire::http::User-Agent "${userAgent}";\n${more}`))
  await configure(config)

  const run = (...command: string[]): Promise<CommandResult> => execute(command, at('download'), at('apt.conf'))

  return {
    directory,
    userAgent,
    run,
    configure,
    // Without the option an unreachable or refused repository is only a warning with exit code 0.
    update: () => run('apt-get', '-o', 'APT::Update::Error-Mode=any', 'update'),
    async versions(name) {
      const { text } = await run('apt-cache', 'madison', name)
      return text
        .split('\n')
        .filter((line) => line.includes('|'))
        .map((line) => line.split('|')[1]?.trim() ?? '')
    },
    async download(name, version) {
      await rm(at('download'), { recursive: true, force: true })
      await mkdir(at('download'))
      const { code, text } = await run('apt-get', 'download', version ? `${name}=${version}` : name)
      const [file] = await readdir(at('download'))
      if (code !== 0 || !file) throw new Error(`apt-get download ended with ${code}: ${text}`)
      return readFile(at('download', file))
    },
    async installed() {
      const { text } = await run(
        'dpkg-query',
        `--admindir=${at('var/lib/dpkg')}`,
        '-W',
        '-f',
        '${db:Status-Status} ${Package} ${Version}\\n',
      )
      const lines = text.split('\n').filter((line) => line.startsWith('installed '))
      return Object.fromEntries(lines.map((line) => line.split(' ').slice(1) as [string, string]))
    },
    async list(suffix) {
      const name = (await readdir(at('var/lib/apt/lists'))).find((file) => file.endsWith(suffix))
      return name ? readFile(at('var/lib/apt/lists', name), 'utf8') : null
    },
    async forget() {
      await rm(at('var/lib/apt/lists'), { recursive: true })
      await rm(at('var/cache/apt'), { recursive: true })
      await makeStateDirectories()
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

function configuration(directory: string, arch: string, more: string): string {
  const dpkgOptions = [
    `--root=${directory}`,
    '--force-not-root',
    '--force-bad-path',
    `--log=${join(directory, 'var/log/dpkg.log')}`,
  ]
  return [
    `Dir "${directory}";`,
    `Dir::State "${join(directory, 'var/lib/apt')}";`,
    `Dir::State::status "${join(directory, 'var/lib/dpkg/status')}";`,
    `Dir::Cache "${join(directory, 'var/cache/apt')}";`,
    `Dir::Etc "${join(directory, 'etc/apt')}";`,
    'Dir::Etc::main "apt.conf";',
    'Dir::Etc::parts "apt.conf.d";',
    `Dir::Log "${join(directory, 'var/log/apt')}";`,
    'Dir::Bin::dpkg "/usr/bin/dpkg";',
    `APT::Architecture "${arch}";`,
    `APT::Architectures { "${arch}"; };`,
    // apt's unprivileged user cannot read a temporary directory.
    'APT::Sandbox::User "root";',
    'APT::Get::Assume-Yes "true";',
    'APT::Install-Recommends "false";',
    'Acquire::Languages "none";',
    'Acquire::Retries "0";',
    `DPkg::Options { ${dpkgOptions.map((option) => `"${option}";`).join(' ')} };`,
    more,
    '',
  ].join('\n')
}

function execute(command: string[], cwd: string, aptConfig: string): Promise<CommandResult> {
  // Files of a package belong to root, and dpkg fails when it cannot set the owner.
  const [program, ...args] = process.getuid?.() === 0 ? command : ['fakeroot', ...command]
  return new Promise((resolve, reject) => {
    const child = spawn(program as string, args, {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${process.env['PATH']}:/usr/sbin:/sbin`,
        LC_ALL: 'C.UTF-8',
        DEBIAN_FRONTEND: 'noninteractive',
        APT_CONFIG: aptConfig,
      },
    })
    let text = ''
    child.stdout.on('data', (piece) => (text += String(piece)))
    child.stderr.on('data', (piece) => (text += String(piece)))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? -1, text }))
  })
}

/**
 * Waits until the second of a file's last change is over, so that its date no longer changes. Until then it is dated back. apt
 * keeps that date as long as the bytes are the same, and downloads them again with every update.
 */
export async function secondIsOver(url: string): Promise<void> {
  for (;;) {
    const { headers } = await fetch(url, { method: 'HEAD' })
    const seconds = (name: string) => Date.parse(headers.get(name) ?? '') / 1000
    if (seconds('date') > seconds('last-modified') + 2) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
