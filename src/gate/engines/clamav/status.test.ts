// The status of the engine, against a fake clamd on loopback.
import { utimes, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { useClamd } from '../../../../test/antivirus/fixture.ts'
import { noAntivirus } from './no-antivirus.ts'

const { directory, target, fake, gone, engine } = useClamd()

describe('the status', () => {
  const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1000)

  it('reports the engine, its database and the files of the directory', async () => {
    for (const name of ['daily.cld', 'main.cvd', 'own.ndb', 'freshclam.dat', 'tmp.5f2']) {
      await writeFile(join(directory(), name), '')
      await utimes(join(directory(), name), at(0), at(name === 'daily.cld' ? 60 : 0))
    }
    expect(await engine(await fake(), { databaseDirectory: directory() }).status()).toEqual({
      available: true,
      engine: 'ClamAV',
      version: '1.4.6',
      db_version: '27000',
      db_date: '2025-11-18T09:26:00.000+00:00',
      db_updated_at: '2023-11-14T22:14:20.000+00:00',
      db_files: ['daily.cld', 'main.cvd', 'own.ndb'],
      daemon_running: true,
      cooldown_until: null,
      error: null,
      limits: null,
      warning: null,
    })
  })

  it('is available without the date of a database that has none, and without a directory that cannot be read', async () => {
    const clamd = await fake({ version: 'ClamAV 1.4.6' })
    const status = await engine(clamd, { databaseDirectory: join(directory(), 'missing') }).status()
    expect(status).toMatchObject({ available: true, version: '1.4.6', db_version: null, db_date: null, db_files: [] })
  })

  it('asks at most once in five seconds, and once for all who ask together', async () => {
    let now = at(0)
    const clamd = await fake()
    const antivirus = engine(clamd, { clock: { now: () => now } })
    await Promise.all([antivirus.status(), antivirus.status()])
    now = at(4.9)
    await antivirus.status()
    expect(clamd.commands).toEqual(['zPING', 'zVERSION'])
    now = at(5)
    await antivirus.status()
    expect(clamd.commands).toHaveLength(4)
  })

  it('reports why the engine is unavailable for five seconds, and then that it is available', async () => {
    let now = at(0)
    const { address } = await gone()
    const antivirus = engine({ address }, { clock: { now: () => now } })
    expect(await antivirus.status()).toMatchObject({
      available: false,
      engine: 'ClamAV',
      version: null,
      daemon_running: false,
      error: 'the antivirus engine cannot be reached; it may still be loading its signatures',
    })
    await fake({ port: address.port })
    now = at(4)
    expect((await antivirus.status()).available).toBe(false)
    now = at(5)
    expect((await antivirus.status()).available).toBe(true)
  })

  it('asks again before a scan when the last answer was a failure', async () => {
    const { address } = await gone()
    const antivirus = engine({ address }, { clock: { now: () => at(0) } })
    expect((await antivirus.status()).available).toBe(false)
    await fake({ port: address.port })
    expect((await antivirus.scan(await target({ a: 'x' }))).result).toBe('clean')
    expect((await antivirus.status()).available).toBe(true)
  })

  it('rejects a service that is not clamd', async () => {
    const web = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
    const address = { host: '127.0.0.1', port: (web.address() as AddressInfo).port }
    const antivirus = engine({ address }, { clock: { now: () => at(0) } })
    expect(await antivirus.status()).toMatchObject({
      available: false,
      error: 'the service at the antivirus address is not clamd',
    })
    await expect(antivirus.scan(await target({ a: 'x' }))).rejects.toMatchObject({
      code: 'scanner_unavailable',
    })
    await new Promise((resolve) => web.close(resolve))
  })
})

describe('without an engine', () => {
  it('reports no engine, and a scan fails', async () => {
    expect(await noAntivirus().status()).toMatchObject({
      available: false,
      engine: null,
      error: 'no antivirus engine is configured',
    })
    await expect(noAntivirus().scan(await target({}))).rejects.toMatchObject({
      code: 'scanner_unavailable',
    })
  })
})
