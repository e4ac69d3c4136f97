// Verifies the signatures of an index with the programs of clients: gpgv (apt up to 2.x) and sqv (apt 3).
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { need } from '../need.ts'
import { buildDeb } from '../samples/deb.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

let directory: string
let service: Service
const at = (name: string) => join(directory, name)

beforeAll(async () => {
  need('gnupg', 'gpgv', 'sqv')
  directory = await mkdtemp(join(tmpdir(), 'release-'))
  service = await startService({ env: { REPO_FORMAT: 'apt' } })
  expect((await service.upload(await buildDeb(), 'x.deb', { distribution: 'bookworm' })).status).toBe(201)
  for (const [name, path] of [
    ['InRelease', 'dists/bookworm/InRelease'],
    ['Release', 'dists/bookworm/Release'],
    ['Release.gpg', 'dists/bookworm/Release.gpg'],
    ['key.asc', 'gpg.key'],
  ] as const) {
    const response = await fetch(`${service.apt}/repos/${path}`)
    expect(response.status).toBe(200)
    await writeFile(at(name), Buffer.from(await response.arrayBuffer()))
  }
  execFileSync('gpg', ['--batch', '--homedir', directory, '--dearmor', '-o', at('key.gpg'), at('key.asc')])
  // A key that signed nothing here, so it must verify nothing.
  execFileSync(
    'gpg',
    [
      '--batch',
      '--homedir',
      directory,
      '--passphrase',
      '',
      '--quick-generate-key',
      'stranger',
      'rsa2048',
      'sign',
      'never',
    ],
    { stdio: 'ignore' },
  )
  await writeFile(at('stranger.gpg'), execFileSync('gpg', ['--batch', '--homedir', directory, '--export', 'stranger']))
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  spawnSync('gpgconf', ['--homedir', directory, '--kill', 'all'])
  await rm(directory, { recursive: true, force: true })
})

/** sqv 1.1 only reads detached signatures; apt 3 splits InRelease before it calls sqv (`test/clients/apt-next`). */
const VERIFIERS: [name: string, detached: (key: string, signature: string, file: string) => string[]][] = [
  ['gpgv', (key, signature, file) => ['gpgv', '--keyring', key, signature, file]],
  ['sqv', (key, signature, file) => ['sqv', '--keyring', key, signature, file]],
]

function passes([program, ...args]: string[]): boolean {
  const { status, error } = spawnSync(program as string, args, { cwd: directory })
  if (error) throw error
  return status === 0
}

it.each(VERIFIERS)(
  '%s believes Release by Release.gpg, not one with a changed byte, nor by a stranger’s key',
  async (_, detached) => {
    expect(passes(detached(at('key.gpg'), 'Release.gpg', 'Release'))).toBe(true)
    expect(passes(detached(at('stranger.gpg'), 'Release.gpg', 'Release'))).toBe(false)
    await writeFile(
      at('changed'),
      (await readFile(at('Release'), 'utf8')).replace('Codename: bookworm', 'Codename: bookwurm'),
    )
    expect(passes(detached(at('key.gpg'), 'Release.gpg', 'changed'))).toBe(false)
  },
)

it('gpgv accepts InRelease, but neither a changed byte nor another key', async () => {
  const inline = (key: string, file: string) => ['gpgv', '--keyring', key, file]
  expect(passes(inline(at('key.gpg'), 'InRelease'))).toBe(true)
  expect(passes(inline(at('stranger.gpg'), 'InRelease'))).toBe(false)
  await writeFile(
    at('changed'),
    (await readFile(at('InRelease'), 'utf8')).replace('Codename: bookworm', 'Codename: bookwurm'),
  )
  expect(passes(inline(at('key.gpg'), 'changed'))).toBe(false)
})

it('InRelease has the text of Release', async () => {
  const signed = (await readFile(at('InRelease'), 'utf8')).split('\n')
  const body = signed.slice(signed.indexOf('') + 1, signed.indexOf('-----BEGIN PGP SIGNATURE-----')).join('\n')
  expect(`${body}\n`.trimEnd()).toBe((await readFile(at('Release'), 'utf8')).trimEnd())
})
