// What the files of deploy/ must have in common. test/deploy tests their effects.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const DEPLOY = resolve(import.meta.dirname, '../../deploy')
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8')

/** PostgreSQL of each Debian release: `postgresql-client` installs it. */
const CLIENT_OF_DEBIAN: Record<string, number> = { 12: 15, 13: 17 }

test('pg_dump of the image is as new as the PostgreSQL of compose: an older one refuses to dump it', () => {
  const container = read('container/Containerfile')
  const [, debian = ''] = /^FROM \S*debian:(\d+)-slim$/m.exec(container) ?? []
  expect(container).toContain(' postgresql-client ')
  const { services } = parse(read('container/compose.yaml')) as { services: Record<string, { image: string }> }
  const [, server] = /postgres:(\d+)\./.exec(services['postgres']!.image) ?? []
  expect(CLIENT_OF_DEBIAN[debian]).toBeGreaterThanOrEqual(Number(server))
})

test.each(readdirSync(join(DEPLOY, 'systemd')).filter((name) => name.endsWith('.service')))(
  '%s runs only what the package or any Debian has',
  (name) => {
    const programs = [...read(`systemd/${name}`).matchAll(/^Exec\w+=[-+@!]*(\S+)/gm)].map(([, program]) => program)
    expect(programs.length).toBeGreaterThan(1)
    for (const program of programs) expect(program).toMatch(/^\/(?:usr\/bin\/gatehouse-server|bin\/sh)$/)
  },
)

test.each([
  ['a purge by dpkg', 'purge', /kept.*\/var\/lib\/gatehouse.*secrets\.env.*user gatehouse/],
  ['a removal by rpm', '0', /kept/],
  ['a removal by dpkg, which may come back', 'remove', /^$/],
  ['an upgrade', '1', /^$/],
])('%s says what stays, where it is the last word', (_, argument, expected) => {
  const { status, stdout } = spawnSync('sh', [join(DEPLOY, 'package/postremove.sh'), argument], { encoding: 'utf8' })
  expect([status, stdout.trim()]).toEqual([0, expect.stringMatching(expected)])
})
