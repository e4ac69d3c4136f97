// Packages built with nfpm, as in many build pipelines, are uploaded and installed by the clients of each format.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { need } from '../need.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { apkClients } from './apk-roots.ts'
import { createAptRoot } from './apt-root.ts'
import { dnf } from './dnf-root.ts'
import { zypper } from './zypper-root.ts'

/** The distribution of each format and the dependency of its sample. */
const PLACES = {
  deb: { file: 'sample.deb', distribution: 'noble', library: () => buildDeb({ name: 'libc6', version: '2.39-1' }) },
  rpm: { file: 'sample.rpm', distribution: 'almalinux8', library: () => buildRpm({ name: 'glibc', version: '2.28' }) },
  apk: {
    file: 'sample-plain.apk',
    distribution: 'alpine3.21',
    library: async () => buildApk({ name: 'musl', version: '1.2.5-r8' }),
  },
}

let service: Service
let directory: string

beforeAll(async () => {
  need('fakeroot', ...dnf.needs, ...zypper.needs)
  directory = await mkdtemp(join(tmpdir(), 'nfpm-'))
  await promisify(execFile)(join(import.meta.dirname, '../samples/nfpm.sh'), [directory], { maxBuffer: 2 ** 26 })
  service = await startService({ env: { REPO_FORMAT: 'all' } })
  for (const { file: sample, distribution, library } of Object.values(PLACES)) {
    for (const file of [await library(), await readFile(join(directory, sample))]) {
      const { status, body } = await service.upload(file, sample, { distribution })
      expect([status, body.status], JSON.stringify(body)).toEqual([201, 'published'])
    }
  }
})
afterAll(async () => {
  await service.stop()
  await removeTemporary()
  if (directory) await rm(directory, { recursive: true })
})

const CONF = 'etc/nfpm-sample.conf'
const LINK = 'usr/bin/nfpm-sample-link'

it('apt-get installs the deb', async () => {
  const key = await (await fetch(`${service.apt}/repos/gpg.key`)).text()
  // The root has no shell for the maintainer script.
  const config = 'DPkg::Options { "--force-script-chrootless"; };'
  const root = await createAptRoot({ url: `${service.apt}/repos`, suite: PLACES.deb.distribution, key, config })
  try {
    expect((await root.update()).code).toBe(0)
    const { code, text } = await root.run('apt-get', 'install', 'nfpm-sample')
    expect(code, text).toBe(0)
    expect(await root.installed()).toEqual({ libc6: '2.39-1', 'nfpm-sample': '1.2.3~rc1-2' })
    expect(await readFile(join(root.directory, CONF), 'utf8')).toBe('a = 1\n')
    expect(await readlink(join(root.directory, LINK))).toBe('/usr/bin/nfpm-sample')
    expect((await root.run('apt-cache', 'show', 'nfpm-sample')).text).toMatch(/^Provides: virtual-sample$/m)
  } finally {
    await root.remove()
  }
})

describe('the rpm', () => {
  const options = async () => ({
    url: `${service.rpm}/repos/${PLACES.rpm.distribution}/x86_64/`,
    key: await (await fetch(`${service.rpm}/repos/gpg.key`)).text(),
  })

  it('is installed by dnf with its signature checked', async () => {
    const root = await dnf.createRoot(await options())
    try {
      const { code, text } = await root.run('--setopt=tsflags=noscripts', 'install', 'virtual-sample')
      expect(code, text).toBe(0)
      expect(await root.installed()).toEqual({ glibc: '2.28-1', 'nfpm-sample': '1.2.3~rc1-2' })
      expect(await root.file(CONF)).toBe('a = 1\n')
      expect(await readlink(join(root.directory, LINK))).toBe('/usr/bin/nfpm-sample')
    } finally {
      await root.dispose()
    }
  })

  it('is resolved, downloaded and verified by zypper', async () => {
    const root = await zypper.createRoot(await options())
    try {
      const { code, text } = await root.download('nfpm-sample')
      expect(code, text).toBe(0)
      expect(text).toContain('glibc')
      expect(text).not.toMatch(/verification failed|unsigned/i)
    } finally {
      await root.dispose()
    }
  })
})

describe.each(apkClients().map((client) => [client.name, client] as const))('%s', (_, client) => {
  beforeAll(() => client.prepare())

  it('installs the apk', async () => {
    const pem = await (await fetch(`${service.apt}/apk/svc.rsa.pub`)).text()
    const url = `${service.apt}/apk/${PLACES.apk.distribution}/main`
    const root = await client.createRoot({ url, keys: [{ name: 'svc.rsa.pub', pem }] })
    try {
      const { code, text } = await root.add('nfpm-sample')
      expect(code, text).toBe(0)
      expect(await root.installed()).toEqual({ musl: '1.2.5-r8', 'nfpm-sample': '1.2.3_rc1-r2' })
      expect(await root.file(CONF)).toBe('a = 1\n')
      expect(await root.file('usr/bin/nfpm-sample')).toContain('echo sample')
    } finally {
      await root.remove()
    }
  })
})
