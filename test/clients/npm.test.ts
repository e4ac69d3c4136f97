// npm 10 and 11, pnpm, yarn 1 and 4, and bun against a service: as people publish, install and are refused.
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADVISED, publishLibraries } from './npm/libraries.ts'
import { CLIENTS, prepareMachine, type Client, type Machine, type Project } from './npm/clients.ts'
import { documentCases } from './npm/document.ts'
import { PASSWORD } from '../contract/harness.ts'
import { startNpm } from '../contract/npm.ts'
import { writeAdvisories } from '../samples/osv.ts'

let at: Awaited<ReturnType<typeof startNpm>>
let machine: Machine
let advisories: string
const address = (repo: string) => `http://127.0.0.1:${at.gate.port}/npm/${repo}/`

beforeAll(async () => {
  advisories = await mkdtemp(join(tmpdir(), 'npm-advisories-'))
  await writeAdvisories(advisories, ADVISED)
  at = await startNpm({ env: { SVC_OSV_DIR: advisories } })
  machine = await prepareMachine()
  const { gate } = at
  const read = await gate.call('POST', '/security/vulnscan/update')
  expect(read.body['status'], read.text).toMatch(/updated|up_to_date/)
  await publishLibraries(at)
})
afterAll(async () => {
  await at?.gate.close()
  await machine?.close()
  await rm(advisories, { recursive: true, force: true })
})

const DEPENDENCIES = { lib: '^1.0.0', '@team/scoped': '1.0.0', partly: '^1.0.0' }
const REPEAT: Record<Client, string[]> = {
  npm10: ['ci'],
  npm11: ['ci'],
  pnpm: ['install', '--frozen-lockfile'],
  yarn1: ['install', '--frozen-lockfile'],
  yarn4: ['install', '--immutable'],
  bun: ['install', '--frozen-lockfile'],
}
const ADD: Record<Client, string> = {
  npm10: 'install',
  npm11: 'install',
  pnpm: 'add',
  yarn1: 'add',
  yarn4: 'add',
  bun: 'add',
}
const PUBLISH: Record<Client, string[]> = {
  npm10: ['publish'],
  npm11: ['publish'],
  pnpm: ['publish', '--no-git-checks'],
  yarn1: ['publish', '--non-interactive'],
  yarn4: ['npm', 'publish'],
  bun: ['publish'],
}

const versionIn = async ({ directory }: Project, name: string) =>
  (JSON.parse(await readFile(join(directory, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
    .version

describe.each(CLIENTS)('%s', (client) => {
  test('installs from a private group, and again from its lockfile', async () => {
    const project = await machine.project(address('all-private'), at.uploader, { dependencies: DEPENDENCIES })
    const installed = await project.run(client, ['install'])
    expect(installed.code, installed.text).toBe(0)
    // 1.2.0 of lib is a prerelease, 1.1.0 of partly is held.
    for (const [name, version] of [
      ['lib', '1.1.0'],
      ['@team/scoped', '1.0.0'],
      ['partly', '1.0.0'],
    ] as const)
      expect(await versionIn(project, name)).toBe(version)
    await rm(join(project.directory, 'node_modules'), { recursive: true })
    const again = await project.run(client, REPEAT[client])
    expect(again.code, again.text).toBe(0)
    expect(await versionIn(project, '@team/scoped')).toBe('1.0.0')
  })

  test('installs from a public repository without a credential, and from a private one not', async () => {
    const open = await machine.project(address('open'), null, { dependencies: { free: 'latest' } })
    const { code, text } = await open.run(client, ['install'])
    expect(code, text).toBe(0)
    const closed = await machine.project(address('team'), null, { dependencies: { lib: '1.0.0' } })
    const refused = await closed.run(client, ['install'])
    expect(refused.code, refused.text).not.toBe(0)
    expect(refused.text).toMatch(/401|unauthorized|authentica|credential|logged in/i)
    expect(existsSync(join(closed.directory, 'node_modules/lib'))).toBe(false)
  })

  test('publishes, with a scope and a tag', async () => {
    for (const name of [`from-${client}`, `@team/from-${client}`]) {
      const project = await machine.project(address('team'), at.uploader, {
        name,
        private: undefined,
        version: '1.0.0',
      })
      await project.write('index.js', `module.exports = '${client}'\n`)
      if (client === 'yarn4') await project.run(client, ['install'])
      const first = await project.run(client, PUBLISH[client])
      expect(first.code, first.text).toBe(0)
      await project.write('package.json', { name, version: '2.0.0-rc.1', main: 'index.js' })
      const second = await project.run(client, [...PUBLISH[client], '--tag', 'next'])
      expect(second.code, second.text).toBe(0)
      const { body } = await at.get(`team/${name}`)
      expect(body['dist-tags']).toEqual({ latest: '1.0.0', next: '2.0.0-rc.1' })
      const again = await project.run(client, [...PUBLISH[client], '--tag', 'next'])
      expect(again.code, again.text).not.toBe(0)
    }
  })

  test('does not get a held version', async () => {
    const project = await machine.project(address('team'), at.uploader)
    const refused = await project.run(client, [ADD[client], 'partly@1.1.0'])
    expect(refused.code, refused.text).not.toBe(0)
    expect(refused.text).toMatch(SAID[client])
    expect(existsSync(join(project.directory, 'node_modules/partly'))).toBe(false)
  })
})

const RESTRICTED =
  /403 Could not download partly@1\.1\.0 due to policy violations:\n.*partly@1\.1\.0: it waits for a review of its known vuln/
/** What each says about a version that is held. */
const SAID: Record<Client, RegExp> = {
  npm10: RESTRICTED,
  npm11: RESTRICTED,
  pnpm: /No matching version found for partly@1\.1\.0/,
  yarn1: /Couldn't find any versions for "partly" that matches "1\.1\.0"/,
  yarn4: /partly@npm:1\.1\.0: No candidates found/,
  bun: /No version matching "1\.1\.0" found for specifier "partly"/,
}

test('a held version from a lockfile says why, and is installed once it is approved', async () => {
  const project = await machine.project(address('team'), at.uploader, { dependencies: { waiting: '1.0.0' } })
  const resolved = `${address('team')}waiting/-/waiting-1.0.0.tgz`
  await project.write('package-lock.json', {
    ...{ name: 'project', version: '1.0.0', lockfileVersion: 3 },
    packages: {
      '': { name: 'project', version: '1.0.0', dependencies: { waiting: '1.0.0' } },
      'node_modules/waiting': { version: '1.0.0', resolved },
    },
  })
  const refused = await project.run('npm11', ['ci'])
  expect(refused.code, refused.text).not.toBe(0)
  expect(refused.text).toContain('waiting@1.0.0 is held: it waits for a review of its known vulnerabilities')
  const approved = await at.gate.call('POST', '/security/packages/waiting/1.0.0/decide', {
    body: { decision: 'approve', justification: 'not reachable here', distribution: 'npm/team' },
  })
  expect(approved.status, approved.text).toBe(200)
  const installed = await project.run('npm11', ['ci'])
  expect(installed.code, installed.text).toBe(0)
  expect(await versionIn(project, 'waiting')).toBe('1.0.0')
})

describe.each(['npm10', 'npm11'] as const)('%s', (client) => {
  const project = (as = at.uploader) => machine.project(address('team'), as)

  test('tells that a published version is held', async () => {
    const { run, write } = await project()
    await write('package.json', { name: 'noticed', version: client === 'npm10' ? '1.0.1' : '1.0.2' })
    const { code, text } = await run(client, ['publish'])
    expect(code, text).toBe(0)
    expect(text).toMatch(/notice noticed@1\.0\.\d is held: /)
  })

  test('views, searches and says who it is', async () => {
    const { run } = await project()
    expect((await run(client, ['view', 'lib', 'versions', '--json'])).text).toContain('"1.1.0"')
    expect((await run(client, ['view', 'lib@next', 'version'])).text.trim()).toBe('1.2.0-rc.1')
    expect((await run(client, ['search', 'scoped', '--json'])).text).toContain('"@team/scoped"')
    expect((await run(client, ['whoami'])).text.trim()).toBe('token:uploader-robot')
    expect((await run(client, ['ping'])).code).toBe(0)
  })

  test('tags, deprecates and unpublishes', async () => {
    const { run } = await project(at.gate.people.maintainer.token)
    const name = `changed-${client}`
    for (const version of ['1.0.0', '1.1.0']) expect((await at.publish('team', name, version)).status).toBe(201)
    const ok = async (...args: string[]) => {
      const { code, text } = await run(client, args)
      expect(code, text).toBe(0)
      return text
    }
    await ok('dist-tag', 'add', `${name}@1.0.0`, 'stable')
    expect(await ok('dist-tag', 'ls', name)).toMatch(/latest: 1\.1\.0\nstable: 1\.0\.0/)
    await ok('dist-tag', 'rm', name, 'stable')
    await ok('deprecate', `${name}@<1.1.0`, 'use 1.1')
    expect(await ok('view', `${name}@1.0.0`, 'deprecated')).toContain('use 1.1')
    await ok('unpublish', `${name}@1.1.0`)
    expect((await at.get(`team/${name}`)).body).toMatchObject({ 'dist-tags': { latest: '1.0.0' } })
    await ok('unpublish', name, '--force')
    expect((await at.get(`team/${name}`)).status).toBe(404)
  })

  test('audits with our advisories', async () => {
    const { run, write } = await project()
    await write('package.json', { name: 'audited', version: '1.0.0', dependencies: { holey: '1.0.0' } })
    expect((await run(client, ['install'])).code).toBe(0)
    const { code, text } = await run(client, ['audit'])
    expect(code).not.toBe(0)
    expect(text).toContain('a hole in holey')
    expect(text).toContain('fix available')
    expect((await run(client, ['audit', 'fix', '--force'])).text).toContain('found 0 vulnerabilities')
  })

  test('logs in with a password and out', async () => {
    const { run, write } = await machine.project(address('team'), null)
    await write('.npmrc', `registry=${address('team')}\n`)
    const { username } = at.gate.people.uploader
    const login = await run(client, ['login', '--auth-type=legacy'], { input: `${username}\n${PASSWORD}\n` })
    expect(login.code, login.text).toBe(0)
    expect((await run(client, ['whoami'])).text).toContain(username)
    expect((await run(client, ['logout'])).code).toBe(0)
    expect((await run(client, ['whoami'])).code).not.toBe(0)
  })
})

test.each([
  ['pnpm', ['audit'], /holey/],
  ['yarn4', ['npm', 'audit'], /holey/],
  ['bun', ['audit'], /holey/],
] as const)('%s %j finds what our advisories know', async (client, args, found) => {
  const project = await machine.project(address('team'), at.uploader, { dependencies: { holey: '1.0.0' } })
  const installed = await project.run(client, ['install'])
  expect(installed.code, installed.text).toBe(0)
  const { code, text } = await project.run(client, args)
  expect(code, text).not.toBe(0)
  expect(text).toMatch(found)
})

test('downloads of each program are counted', async () => {
  at.gate.clock.advance(20_000)
  const programs = async () => {
    const { body } = await at.gate.call('GET', '/downloads/stats')
    const { per_client_type: counted } = body['summary'] as { per_client_type: Record<string, number> }
    return Object.keys(counted).filter((program) => counted[program]! > 0)
  }
  // yarn 4 sends the agent of its library, got.
  await expect.poll(programs, { timeout: 30_000 }).toEqual(['pnpm', 'yarn', 'bun', 'npm', 'other'])
})

documentCases(() => ({ at, machine, address }))
