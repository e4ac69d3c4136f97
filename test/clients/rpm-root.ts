// The interface of an rpm client for the suites: an isolated root in a temporary directory, and the usual commands.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runAsRoot, type CommandResult } from './command.ts'

export interface RpmRootOptions {
  /** URL of one distribution, the directory of `repodata/` */
  url: string
  /** the armored public key that the configuration trusts, or its URL */
  key: string
  /** false: zypper imports no key by itself; dnf never imports another key than this one */
  importsKeys?: boolean
  /** `x86_64` unless given */
  arch?: string
}

export interface RpmRoot {
  directory: string
  /** Checks the repository for changes, regardless of the age of the cache. */
  refresh(): Promise<CommandResult>
  /** all available versions, newest first */
  versions(name: string): Promise<string[]>
  install(...names: string[]): Promise<CommandResult>
  /** Downloads and verifies packages without installing them. */
  download(...names: string[]): Promise<CommandResult>
  upgrade(): Promise<CommandResult>
  remove(...names: string[]): Promise<CommandResult>
  /** versions of installed packages by name */
  installed(): Promise<Record<string, string>>
  /** content of an installed file; null when it does not exist */
  file(path: string): Promise<string | null>
  /** Replaces the configuration of the repository with a `.repo` file. */
  useRepoFile(content: string): Promise<void>
  /** Deletes caches and imported keys, as before the first refresh. */
  forget(): Promise<void>
  /** Runs any other command of the client. */
  run(...args: string[]): Promise<CommandResult>
  dispose(): Promise<void>
}

export interface RpmClient {
  name: string
  /** Debian packages that contain the client */
  needs: readonly string[]
  /** number of clients with one address and user agent that read one repository during publishes */
  readers: number
  /** its error messages */
  messages: {
    badSignature: RegExp
    badIndex: RegExp
    badPackage: RegExp
    unsignedPackage: RegExp
    nothingProvides: RegExp
  }
  createRoot(options: RpmRootOptions): Promise<RpmRoot>
}

/** The part that all clients share: files and the rpm database. */
export async function createRootDirectory(prefix: string) {
  const directory = await mkdtemp(join(tmpdir(), prefix))
  const at = (...path: string[]) => join(directory, ...path)
  return {
    directory,
    at,
    makeDirectories: async (...paths: string[]) => {
      for (const path of paths) await mkdir(at(path), { recursive: true })
    },
    installed: async (): Promise<Record<string, string>> => {
      const form = '%{NAME} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\\n'
      const { code, text } = await runAsRoot(
        ['rpm', '--root', directory, '--dbpath', '/var/lib/rpm', '-qa', '--qf', form],
        directory,
      )
      if (code !== 0) throw new Error(`rpm -qa ended with ${code}: ${text}`)
      const lines = text.split('\n').filter((line) => /^\S+ \S+$/.test(line) && !line.startsWith('gpg-pubkey '))
      return Object.fromEntries(lines.map((line) => line.split(' ') as [string, string]))
    },
    file: (path: string) => readFile(at(path), 'utf8').catch(() => null),
    dispose: async () => {
      await runAsRoot(['rm', '-rf', directory], tmpdir())
      await rm(directory, { recursive: true, force: true })
    },
  }
}
