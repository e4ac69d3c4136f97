// A machine uses an old repository, which moves here under the same address: apt continues as before, including its pins.
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openKeys } from '../../src/publish/signing/keys.ts'
import { need } from '../need.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { createAptRoot, type AptRoot, type CommandResult } from './apt-root.ts'

const ACME = {
  ...{ codename: 'acme-12', format: 'deb', scanner_distro: 'debian:12' },
  ...{ origin: 'ACME', label: 'ACME internal', suite: 'stable', description: 'What ACME runs', aliases: ['stable'] },
}

let base: string
let service: Service
/** the address of the repository for the machines */
let address: Server
let answer: (path: string) => Promise<Buffer | null>
let apt: AptRoot

beforeAll(async () => {
  need('apt', 'apt-utils', 'fakeroot')
  base = await mkdtemp(join(tmpdir(), 'moved-'))
  await start([ACME])
  address = createServer((request, response) => {
    void answer(request.url ?? '/').then(
      (body) => (body ? response.end(body) : response.writeHead(404).end()),
      (error: Error) => response.destroy(error),
    )
  })
  await new Promise<void>((resolve) => address.listen(0, '127.0.0.1', resolve))
  const key = await (await fetch(`${service.apt}/repos/gpg.key`)).text()
  const url = `http://127.0.0.1:${(address.address() as AddressInfo).port}`
  apt = await createAptRoot({ url, suite: 'stable', key })
})
afterAll(async () => {
  await apt.remove()
  await service.stop()
  address.close()
  await rm(base, { recursive: true, force: true })
})

async function start(entries: readonly unknown[]): Promise<void> {
  const file = join(base, 'distributions.json')
  await writeFile(file, JSON.stringify({ distributions: entries }))
  service = await startService({
    ...{ reposDir: join(base, 'repos'), databaseUrl: `pglite://${join(base, 'db')}` },
    env: { SVC_DISTRIBUTIONS: 'noble', SVC_DISTRIBUTIONS_FILE: file },
  })
}

const here = async (path: string) => {
  const found = await fetch(`${service.apt}/repos${path}`)
  return found.ok ? Buffer.from(await found.arrayBuffer()) : null
}

/** A repository made by apt-ftparchive, signed with the key that moves. */
async function makeOld(): Promise<void> {
  const old = join(base, 'old')
  const suite = join(old, 'dists/stable')
  const packages = join(suite, 'main/binary-amd64')
  await mkdir(join(old, 'pool'), { recursive: true })
  await mkdir(packages, { recursive: true })
  await writeFile(join(old, 'pool/a.deb'), await buildDeb({ name: 'acme-tool', version: '1.0' }))
  const run = (...args: string[]) => execFileSync('apt-ftparchive', args, { cwd: old })
  await writeFile(join(packages, 'Packages'), run('packages', 'pool'))
  const fields = {
    ...{ Origin: 'ACME', Label: 'ACME internal', Suite: 'stable', Codename: 'acme-12' },
    ...{ Components: 'main', Architectures: 'amd64' },
  }
  const options = Object.entries(fields).flatMap(([name, value]) => [
    '-o',
    `APT::FTPArchive::Release::${name}=${value}`,
  ])
  const release = run(...options, 'release', 'dists/stable').toString()
  const keys = await openKeys(join(service.reposDir, 'gnupg'), new Date())
  await writeFile(join(suite, 'InRelease'), await keys.openpgp.clearsign(release, new Date()))
  answer = (path) => readFile(join(old, path)).catch(() => null)
}

/** Fails when apt reports anything, warnings included. */
function expectClean({ code, text }: CommandResult): void {
  expect(text.split('\n').filter((line) => /^(W|N|E|Err):/.test(line))).toEqual([])
  expect(code, text).toBe(0)
}

test('apt moves from the old repository without being told to accept another origin, label, suite or codename', async () => {
  await makeOld()
  expectClean(await apt.update())
  expect(await apt.versions('acme-tool')).toEqual(['1.0'])

  for (const version of ['1.0', '2.0']) {
    const file = await buildDeb({ name: 'acme-tool', version })
    expect((await service.upload(file, 'a.deb', { distribution: 'acme-12' })).body.status).toBe('published')
  }
  answer = here
  expectClean(await apt.update())
  expect(await apt.versions('acme-tool')).toEqual(['2.0', '1.0'])
  expect((await apt.download('acme-tool')).length).toBeGreaterThan(0)
})

test('pins of the old repository match', async () => {
  const preferences = join(apt.directory, 'etc/apt/preferences.d/acme')
  const prioritiesBy = async (pin: string) => {
    await writeFile(preferences, `Package: *\nPin: release ${pin}\nPin-Priority: 777\n`)
    const { text } = await apt.run('apt-cache', 'policy')
    return /^ *777 http/m.test(text)
  }
  for (const pin of ['o=ACME', 'l=ACME internal', 'a=stable', 'n=acme-12'])
    expect([pin, await prioritiesBy(pin)]).toEqual([pin, true])
  expect(await prioritiesBy('o=Gatehouse')).toBe(false)
  await rm(preferences)
})

test('a suite that is not automatic is published at once, and apt installs from it on request only', async () => {
  await service.stop()
  await start([{ ...ACME, not_automatic: true, but_automatic_upgrades: true }])
  await expect.poll(async () => String(await here('/dists/stable/Release'))).toMatch(/^NotAutomatic: yes$/m)
  // As in any repository, apt asks about a change of the priority, so this is a new machine.
  await apt.forget()
  expectClean(await apt.update())
  // apt_preferences(5): 100 with ButAutomaticUpgrades.
  expect((await apt.run('apt-cache', 'policy')).text).toMatch(/^ *100 http/m)
})

test('an alias moves to the next release, by-hash too, and machines that follow it get its packages', async () => {
  await service.stop()
  const next = { ...ACME, codename: 'acme-13', scanner_distro: 'debian:13' }
  await start([{ ...ACME, suite: 'oldstable', aliases: ['oldstable'] }, next])
  const file = await buildDeb({ name: 'acme-tool', version: '3.0' })
  expect((await service.upload(file, 'a.deb', { distribution: 'acme-13' })).body.status).toBe('published')
  await expect.poll(() => here('/dists/oldstable/InRelease')).not.toBeNull()
  expect(await here('/dists/stable/InRelease')).toEqual(await here('/dists/acme-13/InRelease'))
  expect(await here('/dists/oldstable/InRelease')).toEqual(await here('/dists/acme-12/InRelease'))
  // apt also asks about another codename.
  const moved = await apt.run('apt-get', 'update', '--allow-releaseinfo-change')
  expectClean(moved)
  expect(await apt.versions('acme-tool')).toEqual(['3.0'])
})
