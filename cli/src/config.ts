// The configuration file: the services where people signed in, and their credentials.
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { failed, usage } from './failure.ts'

export interface Profile {
  url: string
  username?: string
  /** an API token, or the JWT of a session */
  token?: string
  /** a shell command that prints the token, for example a password manager */
  token_command?: string
  /** for a session; it is renewed before it ends */
  session?: { expires_at: string; life_seconds: number }
  ca_file?: string
}

export interface Config {
  /** the profile that is used without `--profile` */
  current?: string
  profiles: Record<string, Profile>
}

export function configPath(env: Readonly<Record<string, string | undefined>>): string {
  const base = env['XDG_CONFIG_HOME']
  return join(base?.startsWith('/') ? base : join(env['HOME'] ?? homedir(), '.config'), 'gatehouse', 'config.json')
}

/** @throws Failure when others can read the file, or this command did not write it */
export async function readConfig(path: string): Promise<Config> {
  const info = await stat(path).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw failed(`${path} cannot be read: ${message}`)
  })
  if (!info) return { profiles: {} }
  if (process.platform !== 'win32' && (info.mode & 0o077) !== 0)
    throw usage(`others can read ${path}, which holds credentials: chmod 600 it, and replace the credentials`)
  try {
    const config = JSON.parse(await readFile(path, 'utf8')) as Partial<Config>
    if (typeof config.profiles !== 'object') throw new Error('it has no "profiles"')
    return { ...config, profiles: config.profiles }
  } catch (error) {
    throw usage(`${path} is damaged: ${(error as Error).message}`)
  }
}

export async function writeConfig(path: string, config: Config): Promise<void> {
  await makeDirectory(dirname(path))
  const next = `${path}.${process.pid}`
  const file = await open(next, 'w', 0o600)
  try {
    await chmod(next, 0o600)
    await file.writeFile(`${JSON.stringify(config, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(next, path)
}

/** Also creates its parents. Node's `recursive` tries for ever where a directory exists but accepts no names, such as /proc. */
async function makeDirectory(path: string): Promise<void> {
  const failure = await mkdir(path, { mode: 0o700 }).then(
    () => null,
    (error: unknown) => error as NodeJS.ErrnoException,
  )
  if (!failure || (await stat(path).catch(() => null))?.isDirectory()) return
  const above = dirname(path)
  const isMissing = failure.code === 'ENOENT' && above !== path && !(await stat(above).catch(() => null))
  if (!isMissing) throw failure
  await makeDirectory(above)
  await mkdir(path, { mode: 0o700 })
}

const STALE_LOCK_MS = 30_000

/** Changes the file under a lock against other processes of this command. */
export async function changeConfig<T>(path: string, change: (config: Config) => Promise<T>): Promise<T> {
  await makeDirectory(dirname(path)).catch((error: unknown) => {
    throw failed(`${path} cannot be changed: ${(error as Error).message}`)
  })
  const lock = `${path}.lock`
  for (;;) {
    const refused = await mkdir(lock).then(
      () => null,
      (error: unknown) => error as NodeJS.ErrnoException,
    )
    if (!refused) break
    if (refused.code !== 'EEXIST') throw failed(`${path} cannot be changed: ${refused.message}`)
    const age = Date.now() - ((await stat(lock).catch(() => null))?.mtimeMs ?? 0)
    if (age > STALE_LOCK_MS) await rm(lock, { recursive: true, force: true })
    else await new Promise((resolve) => setTimeout(resolve, 50))
  }
  try {
    const config = await readConfig(path)
    const result = await change(config)
    await writeConfig(path, config)
    return result
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}
