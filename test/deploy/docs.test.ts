// The commands of the documentation, run against a real service in the order of the page.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { need } from '../need.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const pages = readdirSync(DOCS).filter((name) => name.endsWith('.md'))
const blocks = (page: string) =>
  [...readFileSync(join(DOCS, page), 'utf8').matchAll(/^```sh run\n([^]*?)^```$/gm)].map(([, block]) => block!)
/** The quick start uploads packages that other pages use, so it runs first. */
const runnable = pages.filter((page) => blocks(page).length > 0).sort((a) => (a === 'quick-start.md' ? -1 : 0))

let service: Service
let directory: string

beforeAll(async () => {
  need('curl', 'jq')
  directory = mkdtempSync(join(tmpdir(), 'docs-'))
  // The quick start works in a checkout; the directory contains nothing else of one.
  symlinkSync(join(DOCS, '../bin'), join(directory, 'bin'))
  mkdirSync(join(directory, 'home'))
  service = await startService({
    env: { REPO_FORMAT: 'all', SVC_DISTRIBUTIONS: 'bookworm,trixie,almalinux9,alpine3.21' },
  })
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  rmSync(directory, { recursive: true, force: true })
})

describe.each(runnable)('%s', (page) => {
  test.each(blocks(page).map((block, i) => [i + 1, block] as const))('block %i runs', (_, block) => {
    const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', block], {
      cwd: directory,
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        HOME: join(directory, 'home'),
        API: `${service.api}/api/v1`,
        GATEHOUSE_URL: service.api,
        APT: service.apt,
        RPM: service.rpm,
        TOKEN: service.token,
      },
    })
    expect([status, stdout], stderr).toEqual([0, expect.not.stringMatching(/^null$/m)])
  })
})

test('the pages that tell people what to do have such blocks', () => {
  expect(runnable.length).toBeGreaterThanOrEqual(9)
})
