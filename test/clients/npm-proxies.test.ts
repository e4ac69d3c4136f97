// npm, pnpm, yarn and bun install what the registry of this machine has, through proxies: with their rules, and past them.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeTemporary, type Service } from '../service.ts'
import { CLIENTS, prepareMachine, type Client, type Machine, type Project } from './npm/clients.ts'
import { startProxies } from './upstream.ts'

let service: Service
let machine: Machine
const address = (repo: string) => `${service.api}/npm/${repo}/`
const versionIn = async ({ directory }: Project, name: string) =>
  (JSON.parse(await readFile(join(directory, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
    .version

beforeAll(async () => {
  machine = await prepareMachine()
  service = await startProxies('npm', {
    now: { min_age_days: 0 },
    week: {},
    'without-mit': { min_age_days: 0, deny_licenses: ['MIT'] },
  })
})
afterAll(async () => {
  await service?.stop()
  await machine?.close()
  await removeTemporary()
})

const INSTALL: Partial<Record<Client, string[]>> = { pnpm: ['install', '--no-frozen-lockfile'] }
const ADD: Record<Client, string> = {
  ...{ npm10: 'install', npm11: 'install', pnpm: 'add' },
  ...{ yarn1: 'add', yarn4: 'add', bun: 'add' },
}
const VIOLATION =
  /403 Could not download is-number@7\.0\.0 due to policy violations:\n.*is-number@7\.0\.0: its licence is MIT, which is denied here/
/** What each says about a version that is held, when clients get no other one. */
const SAID: Record<Client, RegExp> = {
  npm10: VIOLATION,
  npm11: VIOLATION,
  pnpm: /No versions available for is-number/,
  yarn1: /No valid versions found for \\?"is-number\\?"/,
  yarn4: /is-number@npm:7\.0\.0: No candidates found/,
  bun: /No version matching "7\.0\.0" found for specifier "is-number"/,
}

describe.each(CLIENTS)('%s', (client) => {
  test.each(['now', 'week'])('installs a tree of packages from %s', async (repo) => {
    const dependencies = { express: '^4.0.0', '@types/node': '*' }
    const project = await machine.project(address(repo), null, { dependencies })
    const { code, text } = await project.run(client, INSTALL[client] ?? ['install'])
    expect(code, text).toBe(0)
    expect(await versionIn(project, 'express')).toMatch(/^4\./)
    expect(await versionIn(project, '@types/node')).toMatch(/^\d+\./)
  })

  test('does not get a held version', async () => {
    const project = await machine.project(address('without-mit'), null)
    const { code, text } = await project.run(client, [ADD[client], 'is-number@7.0.0'])
    expect(code, text).not.toBe(0)
    expect(text).toMatch(SAID[client])
  })
})

test('a held version that was asked for and approved is installed by each of them', async () => {
  const asked = await service.call('POST', '/registries/npm/without-mit/requests', {
    name: 'is-number',
    version: '7.0.0',
  })
  expect(asked.status, JSON.stringify(asked.body)).toBe(200)
  const approved = await service.call(
    'POST',
    '/security/packages/is-number/7.0.0/decide?distribution=npm%2Fwithout-mit',
    {
      ...{ decision: 'approve', justification: 'we may use it' },
    },
  )
  expect(approved.status, JSON.stringify(approved.body)).toBe(200)
  for (const client of CLIENTS) {
    const project = await machine.project(address('without-mit'), null)
    const { code, text } = await project.run(client, [ADD[client], 'is-number@7.0.0'])
    expect(code, text).toBe(0)
    expect(await versionIn(project, 'is-number')).toBe('7.0.0')
  }
})
