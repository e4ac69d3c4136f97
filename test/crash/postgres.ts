// Starts a PostgreSQL server in a temporary directory, which a suite can stop and start again.
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import pg from 'pg'
import { need } from '../need.ts'
import { freePort } from '../ports.ts'

export interface Postgres {
  /** the URL of a database on this server */
  url(database: string): string
  start(): Promise<void>
  /** Stops it and breaks every connection: by default like a crash, without writing anything more. */
  stop(mode?: 'immediate' | 'fast'): Promise<void>
  /** SIGSTOP to the server and all its sessions: no socket closes, and nobody answers. */
  freeze(): void
  thaw(): void
  query<T extends object>(database: string, text: string): Promise<T[]>
  /** @param template a database without connections */
  create(database: string, template?: string): Promise<string>
  drop(database: string): Promise<void>
  remove(): Promise<void>
}

/**
 * These suites never crash the machine, so the server need not wait for the disk. Commits stay synchronous, because a
 * server that is stopped immediately must keep what it acknowledged.
 */
const FAST = '-c fsync=off -c full_page_writes=off -c max_connections=60'

/** @param directory for its data; by default a temporary one */
export async function startPostgres(directory = tmpdir()): Promise<Postgres> {
  if (!programs()) need('postgresql')
  const bin = programs() as string
  const base = await mkdtemp(join(directory, 'postgres-'))
  const data = join(base, 'data')
  const root = process.getuid?.() === 0
  if (root) {
    const [uid, gid] = ['-u', '-g'].map((option) =>
      Number(spawnSync('id', [option, 'postgres'], { encoding: 'utf8' }).stdout),
    )
    chownSync(base, uid as number, gid as number)
  }
  const run = async (program: string, ...args: string[]) => {
    const command = root
      ? ['runuser', '-u', 'postgres', '--', join(bin, program), ...args]
      : [join(bin, program), ...args]
    // No pipes: the server inherits them and would keep them open.
    const child = spawn(command[0] as string, command.slice(1), { cwd: base, stdio: 'ignore' })
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`${program} ended with ${code}`)
  }
  await run('initdb', '-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync')
  const port = await freePort()
  const signal = (name: NodeJS.Signals) => {
    const [main = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    // The main process first, so that it starts no session meanwhile.
    process.kill(Number(main), name)
    const sessions = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').trim().split(' ')
    for (const pid of sessions)
      try {
        process.kill(Number(pid), name)
      } catch (error) {
        // It ended by itself, as a client that gave up makes it do.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
  }
  const server: Postgres = {
    url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    start: () =>
      run(
        'pg_ctl',
        '-D',
        data,
        '-w',
        '-l',
        join(base, 'log'),
        '-o',
        `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${base} ${FAST}`,
        'start',
      ),
    stop: (mode = 'immediate') => run('pg_ctl', '-D', data, '-m', mode, 'stop'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async query<T extends object>(database: string, text: string): Promise<T[]> {
      const client = new pg.Client({ connectionString: server.url(database) })
      await client.connect()
      try {
        return (await client.query<T>(text)).rows
      } finally {
        await client.end()
      }
    },
    async create(database, template) {
      await server.query('postgres', `create database ${database}${template ? ` template ${template}` : ''}`)
      return server.url(database)
    },
    async drop(database) {
      await server.query('postgres', `drop database if exists ${database} with (force)`)
    },
    async remove() {
      await server.stop().catch(() => {})
      await rm(base, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}

/** The program directory of the newest server that Debian installed. */
function programs(): string | null {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : []
  const newest = versions
    .map(Number)
    .sort((a, b) => b - a)
    .find((version) => existsSync(`/usr/lib/postgresql/${version}/bin/postgres`))
  return newest === undefined ? null : `/usr/lib/postgresql/${newest}/bin`
}
