// Two apk clients with one interface: apko, which the tests can build, and apk-tools when APK_BIN names it.
import { execFile, execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface ApkRoot {
  /** Installs these packages in addition to earlier ones, from the current repository, and upgrades the others. */
  add(...packages: string[]): Promise<CommandResult>
  /** versions of installed packages by name */
  installed(): Promise<Record<string, string>>
  /** content of an installed file; null when it does not exist */
  file(path: string): Promise<string | null>
  remove(): Promise<void>
}

/** Exit code and combined output of a command. */
export interface CommandResult {
  code: number
  text: string
}

export interface ApkRootOptions {
  url: string
  /** trusted keys in `/etc/apk/keys` */
  keys: readonly { name: string; pem: string }[]
  /** `x86_64` unless given */
  arch?: string
}

export interface ApkClient {
  name: string
  /** whether it compares packages with their checksums in the index */
  comparesPackages: boolean
  /** Builds the client if needed, which takes minutes. */
  prepare(): Promise<void>
  createRoot(options: ApkRootOptions): Promise<ApkRoot>
}

/** apko, and apk-tools when APK_BIN names programs, separated by colons. */
export function apkClients(): ApkClient[] {
  const programs = (process.env['APK_BIN'] ?? '').split(':').filter((program) => program !== '')
  return [apko(), ...programs.map(apkTools)]
}

function apkTools(program: string): ApkClient {
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).split(',')[0] as string
  return {
    name: version,
    comparesPackages: true,
    prepare: async () => {},
    async createRoot({ url, keys, arch = 'x86_64' }) {
      const root = await mkdtemp(join(tmpdir(), 'apk-root-'))
      await mkdir(join(root, 'etc/apk/keys'), { recursive: true })
      for (const { name, pem } of keys) await writeFile(join(root, 'etc/apk/keys', name), pem)
      await writeFile(join(root, 'etc/apk/repositories'), `${url}\n`)
      const options = ['--root', root, '--arch', arch, '--no-cache', '--no-scripts', '--keys-dir', 'etc/apk/keys']
      // Files of a package belong to root.
      const privileges = process.getuid?.() === 0 ? [] : ['--usermode']
      let initialised = false
      return {
        async add(...packages) {
          const init = initialised ? [] : ['--initdb']
          initialised = true
          return run(program, [...options, ...privileges, ...init, 'add', '--upgrade', ...packages])
        },
        installed: async () =>
          parseInstalled(await readFile(join(root, 'lib/apk/db/installed'), 'utf8').catch(() => '')),
        file: (path) => readFile(join(root, path), 'utf8').catch(() => null),
        remove: () => rm(root, { recursive: true, force: true }),
      }
    },
  }
}

function apko(): ApkClient {
  let program = ''
  return {
    name: 'apko',
    comparesPackages: false,
    async prepare() {
      const { stdout } = await promisify(execFile)(join(import.meta.dirname, 'apko.sh'), { maxBuffer: 2 ** 26 })
      program = stdout.trim()
    },
    async createRoot({ url, keys, arch = 'x86_64' }) {
      const directory = await mkdtemp(join(tmpdir(), 'apko-root-'))
      const world: string[] = []
      const image = join(directory, 'root.tar')
      await mkdir(join(directory, 'keys'))
      for (const { name, pem } of keys) await writeFile(join(directory, 'keys', name), pem)
      const fromImage = (path: string) =>
        new Promise<string | null>((resolve) => {
          execFile('tar', ['-xOf', image, path], { encoding: 'utf8', maxBuffer: 2 ** 28 }, (error, text) =>
            resolve(error ? null : text),
          )
        })
      return {
        async add(...packages) {
          world.push(...packages)
          const keyring = (await readdir(join(directory, 'keys'))).map((name) => join(directory, 'keys', name))
          const config = { contents: { repositories: [url], keyring, packages: world }, archs: [arch] }
          // JSON is valid YAML.
          await writeFile(join(directory, 'image.yaml'), JSON.stringify(config))
          await rm(image, { force: true })
          return run(program, ['build-minirootfs', '--build-arch', arch, 'image.yaml', image], directory)
        },
        installed: async () => {
          const text = (await fromImage('usr/lib/apk/db/installed')) ?? (await fromImage('lib/apk/db/installed'))
          return parseInstalled(text ?? '')
        },
        file: fromImage,
        remove: () => rm(directory, { recursive: true, force: true }),
      }
    },
  }
}

function parseInstalled(text: string): Record<string, string> {
  const records = text.split('\n\n').filter((record) => /^P:/m.test(record))
  return Object.fromEntries(records.map((record) => [/^P:(.*)$/m.exec(record)?.[1], /^V:(.*)$/m.exec(record)?.[1]]))
}

function run(program: string, args: readonly string[], cwd = tmpdir()): Promise<CommandResult> {
  return new Promise((resolve) => {
    const env = { ...process.env, XDG_CACHE_HOME: join(cwd, 'cache') }
    execFile(program, args, { cwd, env, encoding: 'utf8', maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === 'number' ? error.code : -1) : 0
      resolve({ code, text: stdout + stderr })
    })
  })
}
