// apt 3, which verifies signatures with sqv, in a separate root made from Debian's packages.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { debianRoot } from '../debian-root.ts'
import { buildDeb } from '../samples/deb.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { startTamperingProxy } from './tampering-proxy.ts'

let directory: string
let root: string
let service: Service

/** Runs apt asynchronously, because a proxy in this process answers it. */
async function apt(...args: string[]): Promise<{ status: number; output: string }> {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' }
  const run = promisify(execFile)(
    'chroot',
    [root, 'apt-get', '-y', '-o', 'APT::Sandbox::User=root', '-o', 'APT::Update::Error-Mode=any', ...args],
    { env },
  )
  return run.then(
    ({ stdout, stderr }) => ({ status: 0, output: stdout + stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
      return { status: code, output: stdout + stderr }
    },
  )
}

const source = (address: string) =>
  writeFile(join(root, 'etc/apt/sources.list'), `deb [signed-by=/etc/gatehouse.asc] ${address}/repos bookworm main\n`)
const upload = async (version: string) => {
  const { status, body } = await service.upload(
    await buildDeb({ name: 'next-sample', version, arch: 'all' }),
    'x.deb',
    { distribution: 'bookworm' },
  )
  expect([status, body.status]).toEqual([201, 'published'])
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'apt-next-'))
  root = join(directory, 'root')
  await cp(await debianRoot('trixie'), root, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !/\/(dev|proc|sys)\/./.test(path.slice(1)),
  })
  await rm(join(root, 'etc/apt/sources.list.d'), { recursive: true, force: true })
  await mkdir(join(root, 'dev'), { recursive: true })
  await writeFile(join(root, 'dev/null'), '')
  service = await startService({ env: { REPO_FORMAT: 'apt' } })
  await writeFile(join(root, 'etc/gatehouse.asc'), await (await fetch(`${service.apt}/repos/gpg.key`)).text())
  await source(service.apt)
})
afterAll(async () => {
  await service.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

it('this apt is version 3', async () => {
  expect((await apt('--version')).output).toMatch(/^apt 3\./)
})

it('apt 3 updates, installs, and upgrades after the next publish', async () => {
  await upload('1.0-1')
  expect(await apt('update')).toEqual({ status: 0, output: expect.any(String) })
  expect(await apt('install', 'next-sample')).toMatchObject({ status: 0 })
  await upload('2.0-1')
  expect(await apt('update')).toEqual({ status: 0, output: expect.any(String) })
  expect((await apt('upgrade')).output).toContain('next-sample (2.0-1)')
})

it('apt 3 refuses an index that was changed in transit', async () => {
  const proxy = await startTamperingProxy(service.apt)
  proxy.tamper((path, body) =>
    path.endsWith('InRelease')
      ? Buffer.from(body.toString('latin1').replace('Codename: bookworm', 'Codename: bookwurm'), 'latin1')
      : body,
  )
  try {
    await source(proxy.url)
    const { status, output } = await apt('update')
    expect(status).not.toBe(0)
    expect(output).toMatch(/signature|verif|sqv/i)
  } finally {
    await proxy.close()
    await source(service.apt)
  }
})
