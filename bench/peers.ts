// The tools for comparison, set up as their manuals say and signing with an RSA-4096 key like Gatehouse.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { FormatId } from '../test/formats.ts'

export interface Peer {
  name: string
  version: string
  /** Adds all of these files and publishes once. */
  fill(files: readonly string[]): void
  /** Adds one file and publishes, like an upload. */
  add(file: string): void
}

export interface Mirror {
  name: string
  version: string
  /** Fetches everything that the upstream offers and publishes it. */
  run(): void
}

/** The peers that mirror an apt repository. @param upstream its address @param suite also the codename of the mirror */
export function mirrorsFor(base: string, upstream: string, suite: string): Mirror[] {
  const run = signingRunner(base)
  const reprepro = join(base, 'reprepro')
  mkdirSync(join(reprepro, 'conf'), { recursive: true })
  const distribution = ['SignWith: yes', 'DebIndices: Packages Release . .gz .xz', 'Update: bench']
  const common = [`Codename: ${suite}`, 'Architectures: amd64', 'Components: main']
  writeFileSync(join(reprepro, 'conf', 'distributions'), [...common, ...distribution, ''].join('\n'))
  const update = [`Name: bench`, `Method: ${upstream}`, `Suite: ${suite}`, 'Architectures: amd64', 'Components: main']
  writeFileSync(join(reprepro, 'conf', 'updates'), [...update, 'VerifyRelease: blindtrust', ''].join('\n'))
  const config = join(base, 'aptly.json')
  writeFileSync(config, JSON.stringify({ rootDir: join(base, 'aptly'), architectures: ['amd64'], gpgProvider: 'gpg' }))
  const aptly = (...args: string[]) => run('aptly', [`-config=${config}`, ...args])
  return [
    {
      name: 'reprepro update',
      version: versionOfReprepro(),
      run: () => void run('reprepro', ['-b', reprepro, '--silent', '--noskipold', 'update', suite]),
    },
    {
      name: 'aptly mirror update, snapshot, publish',
      version: firstLine(aptly('version')),
      run() {
        aptly('mirror', 'create', '-ignore-signatures', 'bench', upstream, suite, 'main')
        aptly('mirror', 'update', '-ignore-signatures', 'bench')
        aptly('snapshot', 'create', 'bench', 'from', 'mirror', 'bench')
        aptly('publish', 'snapshot', '-batch', '-skip-contents', `-distribution=${suite}`, 'bench')
      },
    },
  ]
}

const firstLine = (text: string) => text.trim().split('\n')[0] ?? ''
const versionOfReprepro = () => firstLine(execFileSync('sh', ['-c', 'reprepro --version 2>&1'], { encoding: 'utf8' }))

/** Runs commands with a new RSA-4096 key below `base`. */
function signingRunner(base: string): (command: string, args: string[], cwd?: string) => string {
  const gnupg = join(base, 'gnupg')
  mkdirSync(gnupg, { recursive: true, mode: 0o700 })
  const env = { ...process.env, GNUPGHOME: gnupg, HOME: base }
  const run = (command: string, args: string[], cwd = base): string =>
    execFileSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe'] })
  const key = ['--quick-generate-key', 'bench <bench@example.org>', 'rsa4096', 'sign', 'never']
  run('gpg', ['--batch', '--passphrase', '', ...key])
  return run
}

/** The peers of a format, each in a separate directory below `base`. */
export function peersFor(format: FormatId, base: string): Peer[] {
  const run = signingRunner(base)
  switch (format) {
    case 'deb':
      return [reprepro(), aptly()]
    case 'rpm':
      return [createrepo()]
    case 'apk':
      return process.env['APK_BIN'] ? [apkIndex(process.env['APK_BIN'])] : []
  }

  function reprepro(): Peer {
    const directory = join(base, 'reprepro')
    mkdirSync(join(directory, 'conf'), { recursive: true })
    writeFileSync(
      join(directory, 'conf', 'distributions'),
      [
        'Codename: jammy',
        'Architectures: amd64',
        'Components: main',
        'SignWith: yes',
        'DebIndices: Packages Release . .gz .xz',
        '',
      ].join('\n'),
    )
    const include = (files: readonly string[]) =>
      run('reprepro', ['-b', directory, '--silent', 'includedeb', 'jammy', ...files])
    return {
      name: 'reprepro',
      version: versionOfReprepro(),
      fill: (files) => inRuns(files, include),
      add: (file) => void include([file]),
    }
  }

  function aptly(): Peer {
    const config = join(base, 'aptly.json')
    writeFileSync(
      config,
      JSON.stringify({ rootDir: join(base, 'aptly'), architectures: ['amd64'], gpgProvider: 'gpg' }),
    )
    const call = (...args: string[]) => run('aptly', [`-config=${config}`, ...args])
    call('repo', 'create', '-distribution=jammy', '-component=main', 'bench')
    return {
      name: 'aptly',
      version: firstLine(call('version')),
      fill(files) {
        inRuns(files, (some) => call('repo', 'add', 'bench', ...some))
        call('publish', 'repo', '-batch', '-skip-contents', 'bench')
      },
      add(file) {
        call('repo', 'add', 'bench', file)
        call('publish', 'update', '-batch', '-skip-contents', 'jammy')
      },
    }
  }

  function createrepo(): Peer {
    const directory = join(base, 'createrepo')
    mkdirSync(directory, { recursive: true })
    const index = (...args: string[]) => {
      run('createrepo_c', ['--quiet', '--compatibility', '--general-compress-type=gz', ...args, directory])
      run('gpg', ['--batch', '--yes', '--armor', '--detach-sign', join(directory, 'repodata', 'repomd.xml')])
    }
    return {
      name: 'createrepo_c',
      version: firstLine(run('createrepo_c', ['--version'])),
      fill(files) {
        for (const file of files) copyFileSync(file, join(directory, basename(file)))
        index()
      },
      add(file) {
        copyFileSync(file, join(directory, basename(file)))
        index('--update', '--skip-stat')
      },
    }
  }

  function apkIndex(apk: string): Peer {
    const directory = join(base, 'apk')
    mkdirSync(directory, { recursive: true })
    const key = join(base, 'bench.rsa')
    run('openssl', ['genrsa', '-out', key, '4096'])
    const index = (...args: string[]) => {
      execFileSync('sh', [
        '-c',
        `cd '${directory}' && '${apk}' index --allow-untrusted ${args.join(' ')} -o new.tar.gz *.apk && mv new.tar.gz APKINDEX.tar.gz && openssl dgst -sha256 -sign '${key}' -out signature APKINDEX.tar.gz`,
      ])
    }
    return {
      name: 'apk index',
      version: firstLine(run(apk, ['--version'])),
      fill(files) {
        for (const file of files) copyFileSync(file, join(directory, basename(file)))
        index()
      },
      add(file) {
        copyFileSync(file, join(directory, basename(file)))
        index('-x', 'APKINDEX.tar.gz')
      },
    }
  }
}

/** Splits the files into runs, because the length of a command line is limited. */
function inRuns(files: readonly string[], take: (some: readonly string[]) => unknown): void {
  for (let at = 0; at < files.length; at += 10_000) take(files.slice(at, at + 10_000))
}
