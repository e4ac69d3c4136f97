// The unit files: systemd's rating of how strictly they confine the service.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { need } from '../need.ts'

const UNITS = join(import.meta.dirname, '../../deploy/systemd')

beforeAll(() => need('systemd'))

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
