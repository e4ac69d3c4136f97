// The clients of npm repositories, each in a directory of its own with a home of its own.
import { execFileSync, spawn } from 'node:child_process'
import { appendFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

export const CLIENTS = ['npm10', 'npm11', 'pnpm', 'yarn1', 'yarn4', 'bun'] as const
export type Client = (typeof CLIENTS)[number]

/** Below the directory that npm-clients.sh prints. */
const PROGRAMS: Record<Client, string> = {
  npm10: 'npm10/node_modules/npm/bin/npm-cli.js',
  npm11: 'npm11/node_modules/npm/bin/npm-cli.js',
  pnpm: 'pnpm/node_modules/pnpm/bin/pnpm.mjs',
  yarn1: 'yarn1/node_modules/yarn/bin/yarn.js',
  yarn4: 'yarn4/node_modules/@yarnpkg/cli-dist/bin/yarn.js',
  bun: `bun/node_modules/@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64-baseline'}/bin/bun`,
}

export interface Ran {
  code: number
  /** standard output and error as they came */
  text: string
}

export interface Project {
  directory: string
  run(client: Client, args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ran>
  write(path: string, content: string | object): Promise<void>
}

export interface Machine {
  /**
   * A directory whose clients use a repository.
   * @param token null: without a credential
   */
  project(registry: string, token: string | null, manifest?: object): Promise<Project>
  /** an empty directory, and a PATH whose `npm` is npm 11 */
  shell(): Promise<{ directory: string; path: string }>
  close(): Promise<void>
}

export async function prepareMachine(): Promise<Machine> {
  const script = join(import.meta.dirname, '..', 'npm-clients.sh')
  // vitest was started by npm, whose variables npm-clients.sh must not see; those with certificates and proxies it needs.
  const plain = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:npm_|vitest|node_env$)/i.test(name)),
  )
  const installed = execFileSync('sh', [script], { encoding: 'utf8', env: plain }).trim()
  const base = await mkdtemp(join(tmpdir(), 'npm-clients-'))
  let made = 0

  return {
    async project(registry, token, manifest = {}) {
      const directory = join(base, `p${++made}`)
      const home = `${directory}-home`
      const write = async (path: string, content: string | object) => {
        await mkdir(dirname(join(directory, path)), { recursive: true })
        await writeFile(join(directory, path), typeof content === 'string' ? content : JSON.stringify(content))
      }
      await mkdir(home, { recursive: true })
      const { host, hostname } = new URL(registry)
      await write('package.json', { name: 'project', version: '1.0.0', private: true, ...manifest })
      const credential = token === null ? [] : [`//${host}${new URL(registry).pathname}:_authToken=${token}`]
      await write('.npmrc', [`registry=${registry}`, ...credential, ''].join('\n'))
      await write('.yarnrc.yml', yarnSettings(registry, hostname, token))
      return {
        directory,
        write,
        async run(client, args, { input = '', env = {} } = {}) {
          // docs/npm.md says why.
          if (client === 'yarn1') await appendFile(join(directory, '.npmrc'), 'always-auth=true\n')
          const program = join(installed, PROGRAMS[client])
          const command = client === 'bun' ? [program] : [process.execPath, program]
          return run([...command, ...args], directory, input, {
            PATH: [dirname(process.execPath), plain.PATH].join(delimiter),
            ...{ HOME: home, XDG_CACHE_HOME: join(home, 'cache'), CI: 'true', NO_UPDATE_NOTIFIER: '1' },
            // pnpm takes the oldest of versions that are all younger than a day.
            ...{ YARN_ENABLE_TELEMETRY: '0', pnpm_config_minimum_release_age: '0' },
            ...env,
          })
        },
      }
    },
    async shell() {
      const directory = join(base, `p${++made}`)
      const bin = `${directory}-bin`
      for (const one of [directory, `${directory}-home`, bin]) await mkdir(one)
      await symlink(join(installed, PROGRAMS.npm11), join(bin, 'npm'))
      return { directory, path: [bin, dirname(process.execPath), plain.PATH].join(delimiter) }
    },
    close: () => rm(base, { recursive: true, force: true }),
  }
}

function yarnSettings(registry: string, hostname: string, token: string | null): string {
  return [
    `npmRegistryServer: "${registry}"`,
    `npmPublishRegistry: "${registry}"`,
    ...(token === null ? [] : [`npmAuthToken: "${token}"`, 'npmAlwaysAuth: true']),
    ...[
      'unsafeHttpWhitelist:',
      `  - "${hostname}"`,
      'nodeLinker: node-modules',
      'enableGlobalCache: false',
      'enableImmutableInstalls: false',
      'npmMinimalAgeGate: 0',
      '',
    ],
  ].join('\n')
}

function run(command: readonly string[], cwd: string, input: string, env: Record<string, string>): Promise<Ran> {
  const [program = '', ...args] = command
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    let text = ''
    const lines = input.split('\n').filter(Boolean)
    const take = (piece: unknown) => {
      text += String(piece)
      // Each question gets the next line of the input.
      if (
        /(user ?name|password|login)[^\n]*: ?$/i.test(text.trimEnd() + ': '.slice(text.endsWith(':') ? 1 : 0)) &&
        lines.length > 0
      )
        child.stdin.write(`${lines.shift()}\n`)
      if (lines.length === 0) child.stdin.end()
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? -1, text }))
    if (lines.length === 0) child.stdin.end()
  })
}
