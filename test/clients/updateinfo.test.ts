// Runs dnf and zypper against a rendered tree: they show advisories and upgrade to the fixes.
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { StoredPackage } from '../../src/domain/package.ts'
import { rpmFormat } from '../../src/formats/rpm/index.ts'
import type { RpmRecord } from '../../src/formats/rpm/read.ts'
import type { UpdateAdvisory } from '../../src/formats/format.ts'
import { fixesOf, renderUpdateinfo, updateinfoPath } from '../../src/formats/rpm/updateinfo.ts'
import { openKeys, type Keys } from '../../src/publish/signing/keys.ts'
import { composeSample } from '../conformance.ts'
import { need } from '../need.ts'
import { buildRpm } from '../samples/rpm.ts'
import { dnf } from './dnf-root.ts'
import type { RpmClient, RpmRoot } from './rpm-root.ts'
import { zypper } from './zypper-root.ts'

const distribution = rpmFormat.distributions[0]!
const ARCH = 'x86_64'
const known: UpdateAdvisory[] = [
  {
    advisory: {
      id: 'ALSA-2026:1234',
      modified: '2026-11-01T10:20:30Z',
      withdrawn: null,
      severity: 'High',
      cvss: 7.5,
      summary: 'Important: tool <security> & update',
      cves: ['CVE-2026-11111'],
      aliases: [],
      urls: ['https://errata.example.org/9/ALSA-2026-1234.html'],
      notes: { 'CVE-2026-11111': 'tool: reads beyond its end' },
      security: true,
    },
    affected: [
      {
        ecosystem: 'AlmaLinux:8',
        package: 'tool',
        ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '1:1.0-2' }] }],
        versions: [],
        severity: null,
        cvss: null,
        wontFix: false,
        stream: null,
      },
    ],
  },
]

let tree: string
let keys: Keys
let roots: RpmRoot[] = []

beforeAll(async () => {
  need(...dnf.needs, ...zypper.needs)
  tree = await mkdtemp(join(tmpdir(), 'updateinfo-'))
  keys = await openKeys(join(tree, 'keys'), new Date(Date.now() - 60_000))
  const offered: StoredPackage<RpmRecord>[] = []
  for (const [name, release] of [
    ['tool', '1'],
    ['tool', '2'],
    ['tool', '3'],
    ['bystander', '1'],
    ['bystander', '2'],
  ] as const) {
    offered.push(await place(await buildRpm({ name, release, ...(name === 'tool' ? { epoch: 1 } : {}) })))
  }
  await writeIndex(offered)
})
afterAll(() => rm(tree, { recursive: true, force: true }))
afterEach(async () => {
  await Promise.all(roots.map((root) => root.dispose()))
  roots = []
})

/** Signs the package and stores it under its path in the index. */
async function place(bytes: Buffer): Promise<StoredPackage<RpmRecord>> {
  const [from, to] = [join(tree, 'unsigned.rpm'), join(tree, 'signed.rpm')]
  await writeFile(from, bytes)
  await rm(to, { force: true })
  await rpmFormat.sign!(from, to, keys, new Date())
  const facts = await rpmFormat.read(to)
  const signed = await readFile(to)
  const digest = (kind: string) => createHash(kind).update(signed).digest('hex')
  const digests = { sha256: digest('sha256'), sha512: digest('sha512'), sha1: digest('sha1'), md5: digest('md5') }
  const filename = rpmFormat.filename(facts)
  const [path] = rpmFormat.packagePaths({ filename, sha256: digests.sha256, arch: facts.arch }, distribution)
  await put(join(ARCH, 'Packages', path!), signed)
  return { facts, filename, digests, sizeBytes: (await stat(to)).size, addedAt: 1_750_000_000 }
}

async function writeIndex(offered: readonly StoredPackage<RpmRecord>[]): Promise<void> {
  const text = Buffer.from(renderUpdateinfo(fixesOf(known, offered), distribution.codename))
  const packed = gzipSync(text)
  const sha256 = createHash('sha256').update(packed).digest('hex')
  await put(updateinfoPath(sha256, ARCH), packed)
  const plain = { sizeBytes: text.length, sha256: createHash('sha256').update(text).digest('hex') }
  const entries = offered.map((pkg) => rpmFormat.entry(pkg, distribution))
  const files = await rpmFormat.index({
    distribution,
    revision: 1,
    date: new Date(),
    architectures: [ARCH],
    count: () => entries.length,
    compose: async (stream, _arch, head, tail) =>
      composeSample([head, ...entries.map((entry) => entry[stream]!), tail]),
    signers: keys,
    backgroundIndexes: [{ path: updateinfoPath(sha256, ARCH), sizeBytes: packed.length, sha256, plain }],
  })
  for (const { path, content } of files)
    await put(path, content instanceof Uint8Array ? content : Buffer.concat([...content]))
}

async function put(path: string, content: Uint8Array): Promise<void> {
  await mkdir(dirname(join(tree, path)), { recursive: true })
  await writeFile(join(tree, path), content)
}

async function rootOf(client: RpmClient): Promise<RpmRoot> {
  const root = await client.createRoot({ url: `file://${join(tree, ARCH)}`, key: keys.openpgp.publicKeyArmored })
  roots.push(root)
  return root
}

async function output(root: RpmRoot, ...args: string[]): Promise<string> {
  const { code, text } = await root.run(...args)
  expect(code, text).toBe(0)
  return text
}

describe('dnf', () => {
  it('lists the advisory while an older package is installed, and upgrades to the fix', async () => {
    const root = await rootOf(dnf)
    await output(root, 'install', 'tool-1:1.0-1', 'bystander-1.0-1')
    expect(await output(root, '-q', 'updateinfo', 'list')).toMatch(
      /^ALSA-2026:1234 +Important\/Sec\. +tool-1:1\.0-2\.x86_64$/m,
    )
    const info = await output(root, '-q', 'updateinfo', 'info')
    expect(info).toContain('Important: tool <security> & update')
    expect(info).toContain('CVE-2026-11111')
    expect(info).toContain('tool: reads beyond its end')
    expect(await output(root, '-q', 'updateinfo', 'list', '--with-cve')).toContain('CVE-2026-11111')
    await output(root, 'upgrade-minimal', '--security')
    expect(await root.installed()).toEqual({ tool: '1:1.0-2', bystander: '1.0-1' })
    expect(await output(root, '-q', 'updateinfo', 'list')).not.toContain('ALSA')
    await output(root, 'upgrade')
    expect(await root.installed()).toEqual({ tool: '1:1.0-3', bystander: '1.0-2' })
  })
})

describe('zypper', () => {
  it('lists the patch by its name and its CVE', async () => {
    const root = await rootOf(zypper)
    await output(root, 'refresh')
    await output(root, 'install', '-y', '--oldpackage', 'tool=1:1.0-1')
    expect(await output(root, 'list-patches', '--all')).toMatch(/ALSA-2026:1234.*security.*important/i)
    expect(await output(root, 'list-patches', '--cve=CVE-2026-11111')).toContain('ALSA-2026:1234')
  })
})
