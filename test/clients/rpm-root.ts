// What the suites need of an rpm client: an isolated root in a temporary directory, and the usual commands.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runAsRoot, type Said } from './command.ts'

export interface RpmRootOptions {
  /** base URL of one distribution: what holds `repodata/` */
  url: string
  /** the armored public key the repository's configuration trusts, or the address it is fetched from */
  key: string
}

export interface RpmRoot {
  directory: string
  /** Checks the repository for changes, however recent the cache is. */
  refresh(): Promise<Said>
  /** every version offered, newest first */
  versions(name: string): Promise<string[]>
  install(...names: string[]): Promise<Said>
  /** Fetches and verifies what an installation would need, and installs nothing. */
  download(...names: string[]): Promise<Said>
  upgrade(): Promise<Said>
  remove(...names: string[]): Promise<Said>
  /** name to version, of what is installed */
  installed(): Promise<Record<string, string>>
  /** content of an installed file; null where there is none */
  file(path: string): Promise<string | null>
  /** Replaces the repository's configuration by a `.repo` file. */
  useRepoFile(content: string): Promise<void>
  /** caches and imported keys as before the first refresh */
  forget(): Promise<void>
  /** any other command of the client */
  run(...args: string[]): Promise<Said>
  dispose(): Promise<void>
}

export interface RpmClient {
  name: string
  /** Debian packages it comes in */
  needs: readonly string[]
  /** how many can read one repository from this machine at the same time and still be told apart */
  readers: number
  /** its error messages */
  words: {
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
