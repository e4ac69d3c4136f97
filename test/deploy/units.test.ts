// The unit files: systemd's rating of how strictly they confine the service, and what they expect of it.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { need } from '../need.ts'
import { removeTemporary, startService } from '../service.ts'

const UNITS = join(import.meta.dirname, '../../deploy/systemd')

let directory: string

beforeAll(() => {
  need('systemd', 'python3-minimal')
  directory = mkdtempSync(join(tmpdir(), 'units-'))
})
afterAll(async () => {
  await removeTemporary()
  rmSync(directory, { recursive: true, force: true })
})

test.each(readdirSync(UNITS).filter((name) => name.endsWith('.service')))(
  'the exposure of %s is below 2 of 10',
  (name) => {
    const { status, stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', '--threshold=20', '--no-pager', join(UNITS, name)],
      { encoding: 'utf8' },
    )
    expect(status, stdout + stderr).toBe(0)
  },
)

/** Prints what is sent to the socket, as systemd reads it. systemd-notify waits until the file that it passes is closed. */
const SYSTEMD = `
import os, socket, sys
at = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
at.bind(sys.argv[1])
print('bound', flush=True)
while True:
    text, files, _, _ = socket.recv_fds(at, 4096, 8)
    for file in files: os.close(file)
    print(text.decode().strip(), flush=True)
`

describe.each(['1', '2'])('a service with SERVE_PROCESSES=%s', (SERVE_PROCESSES) => {
  test('tells systemd when it is ready, and ends or goes on at a reload as the unit expects', async () => {
    const path = join(directory, `notify-${SERVE_PROCESSES}`)
    const systemd = spawn('/usr/bin/python3', ['-c', SYSTEMD, path], { stdio: ['ignore', 'pipe', 'inherit'] })
    const told: string[] = []
    createInterface({ input: systemd.stdout }).on('line', (line) => told.push(line))
    try {
      await expect.poll(() => told).toEqual(['bound'])
      const service = await startService({ env: { SERVE_PROCESSES, NOTIFY_SOCKET: path } })
      await expect.poll(() => told).toContain('READY=1')
      service.process.kill('SIGHUP')
      if (SERVE_PROCESSES === '1') {
        // In order, so that `Restart=always` starts the new code.
        expect(await service.exited).toEqual({ code: 0, signal: null })
        expect(service.log).toContainEqual(expect.objectContaining({ msg: 'stopping', signal: 'SIGHUP' }))
      } else {
        const ready = () => service.log.filter((entry) => (entry as { msg?: string }).msg === 'ready').length
        await expect.poll(ready).toBe(2)
        expect(await service.stop()).toBe(0)
      }
    } finally {
      systemd.kill()
      await once(systemd, 'exit')
    }
  })
})

test('the units expect this', () => {
  for (const name of ['gatehouse', 'gatehouse-serve']) {
    const unit = readFileSync(join(UNITS, `${name}.service`), 'utf8')
    for (const line of ['Type=notify', 'NotifyAccess=all', 'Restart=always']) expect(unit.split('\n')).toContain(line)
  }
})
