// Runs PostgreSQL's pg_dump.
import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { Problem } from '../../../domain/problem.ts'
import type { Lease } from '../../../store/lease.ts'

const KEPT_ERROR_CHARACTERS = 4096

/** The parameters of a connection string that both libpq and pg understand. The environment carries the password. */
const SHARED_PARAMETERS = ['host', 'port', 'user', 'dbname', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'options']

export type Environment = Readonly<Record<string, string | undefined>>

export interface PgDump {
  /** a session that holds the snapshot */
  lease: Lease
  url: string
  snapshot: string
  program: string
  environment: Environment
  path: string
  signal: AbortSignal | undefined
}

/** The texts of the C library, in the locale C, for a full disk and an exhausted quota. */
const FULL = /No space left on device|Disk quota exceeded/

/** @throws Problem('backup_unavailable'), Problem('storage_full') */
export async function pgDump({ lease, url, snapshot, program, environment, path, signal }: PgDump): Promise<void> {
  const { rows } = await lease.query(`select current_setting('server_version_num')::int / 10000 as major`, [])
  const server = Number(rows[0]?.['major'])
  await checkVersion(program, environment, server)
  const { connection, password } = connectionOf(url)
  const file = await open(path, 'wx', 0o600)
  try {
    const child = spawn(
      program,
      [
        '--format=custom',
        '--no-password',
        '--no-unlogged-table-data',
        `--snapshot=${snapshot}`,
        `--dbname=${connection}`,
      ],
      {
        stdio: ['ignore', file.fd, 'pipe'],
        env: { ...environment, ...(password === null ? {} : { PGPASSWORD: password }), LC_ALL: 'C' },
        ...(signal ? { signal } : {}),
      },
    )
    const { code, output } = await endOf(child)
    signal?.throwIfAborted()
    if (code !== 0 && FULL.test(output)) throw new Problem('storage_full', 'the disk is full')
    if (code !== 0)
      throw new Problem('backup_unavailable', `pg_dump ended with ${code}: ${output || 'without a reason'}`)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function checkVersion(program: string, environment: Environment, server: number): Promise<void> {
  const needed = `the server has PostgreSQL ${server}: install pg_dump of version ${server} or newer`
  const child = spawn(program, ['--version'], { env: { ...environment }, stdio: ['ignore', 'pipe', 'ignore'] })
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  let answer: string
  try {
    answer = await Promise.race([text(child.stdout), failed])
  } catch (error) {
    throw new Problem('backup_unavailable', `pg_dump cannot be run; ${needed}`, {}, { cause: error })
  }
  const version = Number(/^pg_dump \(PostgreSQL\) (\d+)/.exec(answer)?.[1])
  if (!(version >= server))
    throw new Problem(
      'backup_unavailable',
      `pg_dump has version ${Number.isNaN(version) ? 'unknown' : version}, but ${needed}`,
    )
}

/** The connection string for libpq, without the password: arguments are visible to every process of the machine. */
export function connectionOf(url: string): { connection: string; password: string | null } {
  const given = new URL(url)
  const password =
    given.searchParams.get('password') ?? (given.password === '' ? null : decodeURIComponent(given.password))
  const kept = new URL(url)
  kept.password = ''
  kept.search = ''
  for (const name of SHARED_PARAMETERS) {
    const value = given.searchParams.get(name)
    // `no-verify` exists only in pg: encrypted, with any certificate.
    if (value !== null) kept.searchParams.set(name, name === 'sslmode' && value === 'no-verify' ? 'require' : value)
  }
  if (given.searchParams.get('ssl') === 'true' && !kept.searchParams.has('sslmode'))
    kept.searchParams.set('sslmode', 'require')
  // libpq does not decode a plus sign.
  return { connection: kept.href.replaceAll('+', '%20'), password }
}

function endOf(
  child: ReturnType<typeof spawn>,
): Promise<{ code: string; output: string } | { code: 0; output: string }> {
  return new Promise((resolve, reject) => {
    let output = ''
    child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      output = (output + part).slice(-KEPT_ERROR_CHARACTERS)
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      const reason = output.trim().replace(/\s+/g, ' ').slice(0, 500)
      resolve(code === 0 ? { code, output: reason } : { code: signal ?? `code ${code}`, output: reason })
    })
  })
}
