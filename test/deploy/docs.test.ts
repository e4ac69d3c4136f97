// The commands of the documentation: run against a real service, in the order of the page, on a machine that has only what the
// pages ask for. Those that cannot run say why, and are read by shellcheck.
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { debianRoot } from '../debian-root.ts'
import { need } from '../need.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { createMachine, type Machine } from './machine.ts'

const ROOT = join(import.meta.dirname, '../..')
const DOCS = join(ROOT, 'docs')
/** Each page has a directory of its own, with these parts of a checkout. */
const PARTS = ['bin', 'deploy']
/** What shellcheck says of a block whose variables are set or used in another one, and of `cd` to what the page just made. */
const ELSEWHERE = 'SC2034,SC2154,SC2164'
const pages = readdirSync(DOCS).filter((name) => name.endsWith('.md'))

/** The blocks whose first line says this, without their indentation. */
function blocks(page: string, kind: RegExp): string[] {
  const all = readFileSync(join(DOCS, page), 'utf8').matchAll(/^( *)```sh ([^\n]+)\n([^]*?)^ *```$/gm)
  return [...all]
    .filter(([, , said]) => kind.test(said!))
    .map(([, indent, , block]) => block!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
}

/** The quick start uploads packages that other pages use, and reviewing decides about one that auditing asks for. */
const FIRST = ['quick-start.md', 'reviewing.md']
const place = (page: string) => (FIRST.includes(page) ? FIRST.indexOf(page) : FIRST.length)
const runnable = pages.filter((page) => blocks(page, /^run$/).length > 0).sort((a, b) => place(a) - place(b))
const unrun = pages.flatMap((page) => blocks(page, /^not-run: /).map((block, i) => [page, i + 1, block] as const))

let service: Service
let machine: Machine

beforeAll(async () => {
  need('shellcheck')
  service = await startService({
    env: { REPO_FORMAT: 'all', SVC_DISTRIBUTIONS: 'bookworm,trixie,almalinux9,alpine3.21' },
  })
  machine = createMachine(await debianRoot('bookworm'))
  for (const file of ['/etc/resolv.conf', '/etc/hosts']) machine.write(file, readFileSync(file, 'utf8'))
  // Nothing that a block installs is started: the network is this machine's.
  machine.write('/usr/sbin/policy-rc.d', '#!/bin/sh\nexit 101\n')
  machine.run('chmod 755 /usr/sbin/policy-rc.d')
  machine.run('apt-get update && apt-get install -y --no-install-recommends curl jq ca-certificates libatomic1')
  cpSync(process.execPath, machine.at('/usr/local/bin/node'))
  for (const part of PARTS) cpSync(join(ROOT, part), machine.at(`/checkout/${part}`), { recursive: true })
})
afterAll(async () => {
  machine?.remove()
  await service?.stop()
  await removeTemporary()
})

describe.each(runnable)('%s', (page) => {
  test.each(blocks(page, /^run$/).map((block, i) => [i + 1, block] as const))('block %i runs', (_, block) => {
    const work = `/root/${page}`
    const parts = PARTS.map((part) => `ln -sfn /checkout/${part} ${part}`).join('\n')
    machine.write('/root/block', `mkdir -p ${work}\ncd ${work}\n${parts}\n${block}`)
    const output = machine.run('exec bash -euo pipefail /root/block', {
      HOME: '/root',
      API: `${service.api}/api/v1`,
      GATEHOUSE_URL: service.api,
      APT: service.apt,
      RPM: service.rpm,
      TOKEN: service.token,
      DEPLOY: '/checkout/deploy',
      // The repository that moving.md moves from.
      OLD: `${service.apt}/repos`,
    })
    expect(output).not.toMatch(/^null$/m)
  })
})

test.each(unrun)('%s: shellcheck reads block %i', (_, __, block) => {
  const { status, stdout } = spawnSync('shellcheck', ['-s', 'bash', '-S', 'warning', '-e', ELSEWHERE, '-'], {
    input: block,
    encoding: 'utf8',
  })
  expect(status, stdout).toBe(0)
})

test('every block either runs, or says why it does not', () => {
  const silent = pages.flatMap((page) =>
    [...readFileSync(join(DOCS, page), 'utf8').matchAll(/^ *```sh(.*)$/gm)]
      .filter(([, said]) => !/^ run$|^ not-run: \w.{10,}$/.test(said!))
      .map(([line]) => `${page}: ${line}`),
  )
  expect(silent).toEqual([])
})

test('the pages that tell people what to do have such blocks', () => {
  expect(runnable.length).toBeGreaterThanOrEqual(14)
})
