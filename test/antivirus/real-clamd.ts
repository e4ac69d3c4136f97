// Starts a real clamd for a test: a few signatures, a unix socket and a loopback port, in a temporary directory.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eicar } from '../fakes/clamd.ts'
import { freePort } from '../ports.ts'

/** Text that the body signature `Test.Body` matches anywhere in a file. EICAR has a hash and a body signature. */
export const BODY_MARKER = 'gatehouse-body-signature-marker'

export interface RealClamd {
  unix: { path: string }
  tcp: { host: string; port: number }
  databaseDirectory: string
  /** kills it like a crash and removes its directory */
  stop(): Promise<void>
}

/** @param settings further lines of clamd.conf(5) */
export async function startClamd(settings: string[] = []): Promise<RealClamd> {
  const directory = await mkdtemp(join(tmpdir(), 'clamd-'))
  const databaseDirectory = join(directory, 'db')
  await mkdir(databaseDirectory)
  await mkdir(join(directory, 'tmp'))
  const hash = createHash('md5').update(eicar()).digest('hex')
  await writeFile(join(databaseDirectory, 'test.hdb'), `${hash}:${eicar().length}:Test.Hash.EICAR\n`)
  const body = (name: string, text: string | Buffer) => `${name}:0:*:${Buffer.from(text).toString('hex')}\n`
  await writeFile(
    join(databaseDirectory, 'test.ndb'),
    body('Test.Body.EICAR', eicar()) + body('Test.Body', BODY_MARKER),
  )

  const unix = { path: join(directory, 'clamd.sock') }
  const tcp = { host: '127.0.0.1', port: await freePort() }
  const log = join(directory, 'clamd.log')
  await writeFile(
    join(directory, 'clamd.conf'),
    [
      'Foreground yes',
      `LogFile ${log}`,
      `DatabaseDirectory ${databaseDirectory}`,
      `TemporaryDirectory ${join(directory, 'tmp')}`,
      `LocalSocket ${unix.path}`,
      `TCPSocket ${tcp.port}`,
      `TCPAddr ${tcp.host}`,
      ...settings,
      '',
    ].join('\n'),
  )
  const child = spawn('clamd', ['-c', join(directory, 'clamd.conf')], { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    let output = ''
    const onText = (text: Buffer) => {
      output += String(text)
      // clamd logs this last before it accepts connections.
      if (output.includes('Self checking')) resolve()
    }
    child.stdout.on('data', onText)
    child.stderr.on('data', onText)
    child.once('error', reject)
    void exited.then(async () =>
      reject(new Error(`clamd ended: ${output}${await readFile(log, 'utf8').catch(() => '')}`)),
    )
  })
  return {
    unix,
    tcp,
    databaseDirectory,
    async stop() {
      child.kill('SIGKILL')
      await exited
      await rm(directory, { recursive: true, force: true })
    },
  }
}
