// npm, pnpm, yarn and bun install what the registry of this machine has, through a proxy: with its rules, and past them.
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startNpm } from '../contract/npm.ts'
import { prepareMachine, type Client, type Machine, type Project } from './npm/clients.ts'

let at: Awaited<ReturnType<typeof startNpm>>
let machine: Machine
const address = (repo: string) => `http://127.0.0.1:${at.gate.port}/npm/${repo}/`
const versionIn = async (project: Project, name: string) =>
  (
    JSON.parse(await readFile(join(project.directory, 'node_modules', name, 'package.json'), 'utf8')) as {
      version: string
    }
  ).version

beforeAll(async () => {
  machine = await prepareMachine()
  at = await startNpm()
  const plain = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' }
  const url = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8', env: plain }).trim()
  for (const [name, curation] of [
    ['week', {}],
    ['now', { min_age_days: 0 }],
    ['without-mit', { deny_licenses: ['MIT'] }],
  ] as const) {
    const body = { format: 'npm', name, kind: 'proxy', public: true, upstream: { url }, curation }
    const made = await at.gate.call('POST', '/registries', { body })
    expect(made.status, made.text).toBe(201)
  }
})
afterAll(async () => {
  await at?.gate.close()
  await machine?.close()
})

const DEPENDENCIES = { express: '^4.0.0', '@types/node': '*' }
const INSTALL: Record<Exclude<Client, 'npm10'>, string[]> = {
  npm11: ['install'],
  pnpm: ['install', '--no-frozen-lockfile'],
  yarn1: ['install'],
  yarn4: ['install'],
  bun: ['install'],
}

test.each(
  Object.entries(INSTALL).flatMap(([client, args]) => [
    ['now', client, args] as const,
    ['week', client, args] as const,
  ]),
)('from %s, %s installs a tree of packages', async (repo, client, args) => {
  const project = await machine.project(address(repo), null, { dependencies: DEPENDENCIES })
  const { code, text } = await project.run(client as Client, args)
  expect(code, text).toBe(0)
  expect(await versionIn(project, 'express')).toMatch(/^4\./)
})

test('npm says why a version is held, and installs it once it was asked for and approved', async () => {
  const project = await machine.project(address('without-mit'), null)
  const refused = await project.run('npm11', ['install', 'is-number@7.0.0'])
  expect(refused.code).not.toBe(0)
  expect(refused.text).toContain('is-number@7.0.0: its licence is MIT, which is denied here')
  const asked = await at.gate.call('POST', '/registries/npm/without-mit/requests', {
    body: { name: 'is-number', version: '7.0.0' },
  })
  expect(asked.status, asked.text).toBe(200)
  const approved = await at.gate.call('POST', '/security/packages/is-number/7.0.0/decide', {
    body: { decision: 'approve', justification: 'we may use it', distribution: 'npm/without-mit' },
  })
  expect(approved.status, approved.text).toBe(200)
  const installed = await project.run('npm11', ['install', 'is-number@7.0.0'])
  expect(installed.code, installed.text).toBe(0)
  expect(await versionIn(project, 'is-number')).toBe('7.0.0')
})
