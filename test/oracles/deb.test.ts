// Compares the deb format with Debian's tools: dpkg, dpkg-deb, apt-ftparchive and apt-get, on packages of this machine's
// distribution. Needs dpkg, apt-utils and a package mirror.
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { debFormat } from '../../src/formats/deb/index.ts'
import { fieldOf, parseControl, type ControlField } from '../../src/formats/deb/control.ts'
import type { DebRecord } from '../../src/formats/deb/read.ts'
import type { PackageFacts, StoredPackage } from '../../src/domain/package.ts'
import { composeSample, sampleSigners } from '../conformance.ts'
import { buildDeb } from '../samples/deb.ts'

const run = promisify(execFile)
const MEBIBYTES = { maxBuffer: 1024 ** 3 }

const NAMES = [
  'hello',
  'coreutils',
  'bash',
  'dpkg',
  'tar',
  'xz-utils',
  'zstd',
  'libc6',
  'perl-base',
  'curl',
  'openssl',
  'git-man',
  'man-db',
  'vim-common',
  'adduser',
  'base-files',
  'tzdata',
  'debconf',
  'ca-certificates',
  'gzip',
  'grep',
  'sed',
  'nano',
  'findutils',
  'cpio',
  'less',
  'fonts-dejavu-core',
  'libstdc++6',
  'sudo',
  'rsync',
  'default-jre-headless',
  'g++',
  'exim4-base',
]

/** Names of `count` small Debian packages, evenly spread over all names for variety in sections, fields and versions. */
async function smallPackages(count: number): Promise<string[]> {
  const { stdout } = await run('apt-cache', ['dumpavail'], MEBIBYTES)
  const names = stdout
    .split('\n\n')
    .filter((stanza) => Number(/^Size: (\d+)$/m.exec(stanza)?.[1] ?? Infinity) < 60_000)
    .map((stanza) => /^Package: (\S+)$/m.exec(stanza)![1]!)
  const sorted = [...new Set(names)].filter((name) => !NAMES.includes(name)).sort()
  return Array.from({ length: count }, (_, i) => sorted[Math.floor((i * sorted.length) / count)]!)
}

describe('the deb format and Debian’s tools', () => {
  let directory: string
  const packages: string[] = []
  const facts = new Map<string, PackageFacts<DebRecord>>()

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'deb-oracle-'))
    await run('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', ...NAMES, ...(await smallPackages(300))], {
      cwd: directory,
      ...MEBIBYTES,
    })
    const [hello] = (await readdir(directory)).filter((name) => name.startsWith('hello_'))
    const root = join(directory, 'root')
    await run('dpkg-deb', ['-R', join(directory, hello!), root])
    for (const kind of ['none', 'gzip', 'xz', 'zstd']) {
      for (const uniform of ['--uniform-compression', '--no-uniform-compression']) {
        await run('dpkg-deb', [`-Z${kind}`, uniform, '-b', root, join(directory, `hello-${kind}${uniform}.deb`)])
      }
    }
    await rm(root, { recursive: true })
    for (const compression of ['none', 'gz', 'xz', 'zst'] as const) {
      await writeFile(
        join(directory, `ours-${compression}.deb`),
        await buildDeb({ name: `ours-${compression}`, compression }),
      )
    }
    for (const name of (await readdir(directory)).filter((file) => file.endsWith('.deb')))
      packages.push(join(directory, name))
    for (const path of packages) facts.set(path, await debFormat.read(path))
  })
  afterAll(() => rm(directory, { recursive: true }))

  it('reads real packages of every compression', () => {
    const suffixes = packages.map((path) =>
      execFileSync('ar', ['t', path]).toString().trim().split('\n').slice(1).join(' '),
    )
    expect(packages.length).toBeGreaterThan(340)
    for (const kind of ['xz', 'gz', 'zst']) expect(suffixes).toContain(`control.tar.${kind} data.tar.${kind}`)
    expect(suffixes).toContain('control.tar data.tar')
  })

  it('lists the same files as dpkg-deb', async () => {
    for (const path of packages) {
      const tar = execFileSync('dpkg-deb', ['--fsys-tarfile', path], MEBIBYTES)
      const names = execFileSync('tar', ['-t', '--quoting-style=literal'], { input: tar, ...MEBIBYTES })
        .toString()
        .split('\n')
      const wanted = names.filter((name) => name !== '' && !name.endsWith('/')).map((name) => name.replace(/^\.\//, ''))
      expect(facts.get(path)?.files, basename(path)).toEqual(wanted)
    }
  })

  it('yields members with the same bytes as dpkg-deb', async () => {
    for (const path of packages.filter((name) => /hello|ours|coreutils/.test(basename(name)))) {
      const root = join(directory, 'unpacked')
      execFileSync('dpkg-deb', ['-R', path, root])
      let count = 0
      for await (const member of debFormat.members(path)) {
        const hash = createHash('sha256')
        for await (const piece of member.content) hash.update(piece)
        const wanted = createHash('sha256')
          .update(await readFile(join(root, member.name)))
          .digest('hex')
        expect(hash.digest('hex'), `${basename(path)} ${member.name}`).toBe(wanted)
        count++
      }
      const regular = execFileSync('find', [root, '-type', 'f'], MEBIBYTES).toString().trim().split('\n')
      expect(count, basename(path)).toBe(regular.length)
      await rm(root, { recursive: true })
    }
  })

  it('renders the fields that apt-ftparchive writes', async () => {
    const { stdout } = await run('apt-ftparchive', ['packages', '.'], { cwd: directory, ...MEBIBYTES })
    const theirs = new Map<string, ControlField[]>()
    for (const stanza of stdout.split('\n\n').filter((text) => text.trim() !== '')) {
      const fields = parseControl(stanza)
      theirs.set(basename(fieldOf(fields, 'Filename')!), fields)
    }
    for (const path of packages) {
      const wanted = theirs.get(basename(path))
      expect(wanted, basename(path)).toBeDefined()
      const { packages: entry } = debFormat.entry(
        await storedPackage(path, facts.get(path)!),
        debFormat.distributions[0]!,
      )
      const ours = parseControl(Buffer.from(entry!).toString())
      const comparable = (fields: ControlField[]) => Object.fromEntries(fields.filter(([name]) => name !== 'Filename'))
      expect(comparable(ours), basename(path)).toEqual(comparable(wanted!))
    }
  })

  it('orders versions as dpkg does', async () => {
    const pairs = versionPairs(4000)
    const script =
      'while read -r a b; do if dpkg --compare-versions "$a" lt "$b" 2>/dev/null; then echo "<"; ' +
      'elif dpkg --compare-versions "$a" gt "$b" 2>/dev/null; then echo ">"; else echo "="; fi; done'
    const answers = execFileSync('sh', ['-c', script], {
      input: pairs.map((pair) => pair.join(' ')).join('\n') + '\n',
      ...MEBIBYTES,
    })
    const words = answers.toString().trim().split('\n')
    const wrong = pairs.filter(([a, b], index) => {
      const order = debFormat.versions.compare(a, b)
      return (order < 0 ? '<' : order > 0 ? '>' : '=') !== words[index]
    })
    expect(wrong).toEqual([])
    expect(new Set(words).size).toBe(3)
  })

  it('writes an index that apt-get reads: update, policy, download and Contents', async () => {
    const jammy = debFormat.distributions.find((distribution) => distribution.codename === 'jammy')!
    const host = join(directory, 'host')
    const root = join(host, 'dists/jammy')
    const entries: Uint8Array[] = []
    const contents: string[] = []
    const wanted = packages.filter((path) => /\/(hello_|ours-)/.test(path))
    for (const path of wanted) {
      const read = facts.get(path)!
      const pkg = await storedPackage(path, read)
      const target = join(
        root,
        'pool',
        debFormat.packagePaths({ filename: pkg.filename, sha256: pkg.digests.sha256, arch: 'all' }, jammy)[0]!,
      )
      await mkdir(dirname(target), { recursive: true })
      await copyFile(path, target)
      entries.push(debFormat.entry(pkg, jammy)['packages']!)
      contents.push(...debFormat.contents!.lines(read))
    }
    const list = Buffer.from(contents.sort().join('\n') + '\n')
    const listGz = gzipSync(list)
    const described = (bytes: Buffer) => ({ sizeBytes: bytes.length, sha256: hex('sha256', bytes) })
    const files = await debFormat.index({
      distribution: jammy,
      revision: 1,
      date: new Date(),
      architectures: jammy.architectures,
      count: () => entries.length,
      compose: async () => composeSample(entries),
      signers: sampleSigners,
      backgroundIndexes: [{ path: 'main/Contents-amd64.gz', ...described(listGz), plain: described(list) }],
    })
    const written = [...files, { path: 'main/Contents-amd64.gz', content: listGz }]
    for (const file of written) {
      // The sample's signatures are not real: apt trusts the Release file without them.
      if (file.path === 'InRelease' || file.path === 'Release.gpg') continue
      const target = join(root, file.path)
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, Array.isArray(file.content) ? Buffer.concat(file.content) : (file.content as Uint8Array))
    }
    const apt = await isolatedApt(join(directory, 'apt'), `deb [trusted=yes arch=amd64] file:${host} jammy main`)
    const update = await apt('apt-get', 'update', '-o', 'APT::Update::Error-Mode=any')
    expect(update).not.toMatch(/^[WE]:/m)
    expect(await apt('apt-cache', 'policy', 'ours-zst')).toContain('Candidate: 1.0-1')
    expect((await apt('apt-cache', 'pkgnames')).trim().split('\n')).toHaveLength(entries.length)
    await apt('apt-get', 'download', 'ours-xz', 'hello')
    expect(await apt('apt-get', 'indextargets')).toMatch(/Contents-amd64/)
    const lists = await readdir(join(directory, 'apt/lists'))
    expect(lists.join()).toMatch(/Contents/)
  })

  it('accepts the versions dpkg accepts', () => {
    const odd = [
      '1',
      '1-',
      '-1',
      ':1',
      '1:',
      '1:1',
      'a:1',
      '1:2:3',
      '1:2:3-4',
      '1-2-3',
      '1_2',
      '1 2',
      '1~',
      '~',
      '1.0+b~c-0.1~x',
      '1/2',
      '2147483647:1',
      '2147483648:1',
      '1-1:1',
      '1é',
      '1-a_b',
      '0',
      '00:0',
    ]
    for (const version of odd) {
      let text = ''
      try {
        execFileSync('dpkg', ['--validate-version', version], { stdio: ['ignore', 'pipe', 'pipe'] })
      } catch (error) {
        text = String((error as { stderr: Buffer }).stderr)
      }
      // dpkg warns about an initial letter, which Policy allows.
      const accepted = text === '' || /does not start with digit/.test(text)
      expect(debFormat.versions.isValid(version), `${version}: ${text}`).toBe(accepted)
    }
  })
})

const hex = (kind: string, bytes: Uint8Array) => createHash(kind).update(bytes).digest('hex')

async function storedPackage(path: string, read: PackageFacts<DebRecord>): Promise<StoredPackage<DebRecord>> {
  const bytes = await readFile(path)
  const digests = {
    md5: hex('md5', bytes),
    sha1: hex('sha1', bytes),
    sha256: hex('sha256', bytes),
    sha512: hex('sha512', bytes),
  }
  return { facts: read, filename: debFormat.filename(read), sizeBytes: bytes.length, digests, addedAt: 0 }
}

/** apt with its own lists, cache and empty dpkg status: it neither reads nor writes those of the machine. */
async function isolatedApt(directory: string, source: string): Promise<(...command: string[]) => Promise<string>> {
  for (const name of ['etc', 'lists/partial', 'cache/archives/partial', 'downloads'])
    await mkdir(join(directory, name), { recursive: true })
  await writeFile(join(directory, 'etc/sources.list'), `${source}\n`)
  await writeFile(join(directory, 'status'), '')
  const config = `
    Dir::Etc "${directory}/etc"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::parts "/dev/null"; Dir::Etc::preferencesparts "/dev/null"; Dir::Etc::trustedparts "/dev/null";
    Dir::State::lists "${directory}/lists"; Dir::State::status "${directory}/status"; Dir::Cache "${directory}/cache";
    APT::Architecture "amd64"; APT::Architectures { "amd64"; }; APT::Sandbox::User "root"; Acquire::Languages "none";
    Acquire::IndexTargets::deb::Contents-deb { MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)"; ShortDescription "Contents";
      Description "$(RELEASE) Contents"; KeepCompressed "true"; };`
  await writeFile(join(directory, 'apt.conf'), config)
  return async (tool, ...args) => {
    const { stdout, stderr } = await run(tool, args, {
      cwd: join(directory, 'downloads'),
      env: { ...process.env, APT_CONFIG: join(directory, 'apt.conf') },
      ...MEBIBYTES,
    })
    return stdout + stderr
  }
}

/** Pairs that differ little, so that they exercise every rule of the order. */
function versionPairs(count: number): [string, string][] {
  let seed = 20261121
  const random = (below: number) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return (seed >>> 8) % below
  }
  const pieces = [
    '0',
    '1',
    '2',
    '9',
    '10',
    '00',
    '01',
    '09',
    '.',
    '.',
    '~',
    '~~',
    '+',
    'a',
    'b',
    'Z',
    'rc',
    '+b1',
    '99999999999999999999',
    '99999999999999999998',
  ]
  const text = () => Array.from({ length: 1 + random(5) }, () => pieces[random(pieces.length)]).join('')
  const version = () =>
    `${random(4) === 0 ? `${random(3)}:` : ''}${random(10)}${text()}${random(2) ? `-${random(3)}${random(2) ? text() : ''}` : ''}`
  return Array.from({ length: count }, () => {
    const a = version()
    const at = random(a.length)
    const b = random(3) === 0 ? version() : a.slice(0, at) + pieces[random(pieces.length)]! + a.slice(at + random(2))
    return [a, debFormat.versions.isValid(b) ? b : version()]
  })
}
