// Compares the rpm format with rpm, rpmbuild, rpmkeys and createrepo_c, from Debian's packages.
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PackageFacts, StoredPackage } from '../../src/domain/package.ts'
import { rpmFormat } from '../../src/formats/rpm/index.ts'
import type { RpmRecord } from '../../src/formats/rpm/read.ts'
import { verifySignature } from '../../src/formats/rpm/verify.ts'
import { openKeys, type Keys } from '../../src/publish/signing/keys.ts'
import { need } from '../need.ts'
import { buildRpm, i18n, string, strings, type SampleRpm } from '../samples/rpm.ts'

const run = promisify(execFile)
const MEBIBYTES = { maxBuffer: 1024 ** 3 }
const ROUNDS = 6000

/** Everything must be under a signature, not only under a digest. */
const STRICT = ['--define', '_pkgverify_level signature']

/** Payload compressions as rpmbuild names them. */
const PAYLOADS = ['w9.gzdio', 'w6.xzdio', 'w3.zstdio', 'w9.bzdio', 'w6.lzdio', 'w.ufdio']

describe('the rpm format and rpm tools', () => {
  let directory: string
  let packages: string[]
  const facts = new Map<string, PackageFacts<RpmRecord>>()

  beforeAll(async () => {
    need('rpm', 'createrepo-c', 'gnupg')
    directory = await mkdtemp(join(tmpdir(), 'rpm-oracle-'))
    const repository = join(directory, 'repository')
    await mkdir(repository)
    for (const [index, spec] of specs().entries()) {
      const path = join(directory, `${index}.spec`)
      await writeFile(path, spec.text)
      const definitions = {
        _topdir: join(directory, 'top'),
        _rpmdir: repository,
        _rpmfilename: `${spec.payload}-%{NAME}-%{VERSION}.rpm`,
        _binary_payload: spec.payload,
        _build_id_links: 'none',
        debug_package: '%{nil}',
      }
      const options = Object.entries(definitions).flatMap(([name, value]) => ['--define', `${name} ${value}`])
      await run('rpmbuild', ['-bb', '--target', spec.arch, ...options, path], MEBIBYTES)
    }
    for (const [name, sample] of Object.entries(ours())) {
      await writeFile(join(repository, `ours-${name}.rpm`), await buildRpm({ name: `ours-${name}`, ...sample }))
    }
    packages = (await readdir(repository)).filter((name) => name.endsWith('.rpm')).map((name) => join(repository, name))
    for (const path of packages) facts.set(path, await rpmFormat.read(path))
  })
  afterAll(() => rm(directory, { recursive: true }))

  it('has real packages of every kind to compare', () => {
    expect(packages.length).toBeGreaterThan(24)
    const compressions = new Set(query('%{PAYLOADCOMPRESSOR}'))
    expect([...compressions].sort()).toEqual(['(none)', 'bzip2', 'gzip', 'lzma', 'xz', 'zstd'])
    expect(new Set(query('%{ARCH}'))).toEqual(new Set(['noarch', 'x86_64']))
  })

  it('reads names, versions and files as rpm does', () => {
    packages.forEach((path) => {
      const read = facts.get(path)!
      const [evr, arch, size] = queryOne('%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE} %{ARCH} %{LONGSIZE}', path).split(
        ' ',
      )
      expect([read.version.replace(/^0:/, ''), read.arch], basename(path)).toEqual([evr?.replace(/^0:/, ''), arch])
      expect(read.record.installedBytes, basename(path)).toBe(Number(size))
      const files = queryOne('[%{FILEMODES:perms} %{FILENAMES}\\n]', path).split('\n')
      const wanted = files.filter((line) => line !== '' && !line.startsWith('d')).map((line) => line.slice(12))
      expect(read.files, basename(path)).toEqual(wanted)
    })
  })

  it('yields members whose bytes have the digests in the header', async () => {
    for (const path of packages) {
      const digests = new Map<string, string>()
      for await (const member of rpmFormat.members(path)) {
        const hash = createHash('sha256')
        for await (const piece of member.content) hash.update(piece)
        if (!member.name.startsWith('RPM/')) digests.set(`/${member.name}`, hash.digest('hex'))
      }
      const lines = queryOne('[%{FILEFLAGS:fflags}|%{FILENLINKS}|%{FILEDIGESTS}|%{FILENAMES}\\n]', path).split('\n')
      for (const line of lines) {
        const [flags, links, digest, name] = line.split('|')
        if (!digest || digest === '(none)' || flags?.includes('g')) continue
        if (links === '1') expect(digests.get(name!), `${basename(path)} ${name}`).toBe(digest)
        else expect([...digests.values()], `${basename(path)} ${name}`).toContain(digest)
      }
    }
  })

  it('renders the same fields as createrepo_c', async () => {
    const repository = join(directory, 'repository')
    await run('createrepo_c', ['--simple-md-filenames', '--no-database', repository])
    for (const stream of ['primary', 'filelists', 'other']) {
      const theirs = parseXml(gunzipSync(await readFile(join(repository, 'repodata', `${stream}.xml.gz`))).toString())
      const wanted = new Map(theirs.children.map((node) => [pkgidOf(node), node]))
      expect(wanted.size).toBe(packages.length)
      for (const path of packages) {
        const pkg = await stored(path, facts.get(path)!)
        const ours = parseXml(Buffer.from(rpmFormat.entry(pkg, rpmFormat.distributions[0]!)[stream]!).toString())
        expect(comparable(ours), `${stream} of ${basename(path)}`).toEqual(comparable(wanted.get(pkg.digests.sha256)!))
      }
    }
  })

  it('orders versions as rpm does', () => {
    const pairs = versionPairs(ROUNDS)
    // One argument of a command line has at most 128 KiB.
    const answers = Array.from({ length: ROUNDS / 1000 }, (_, thousand) => {
      const some = pairs.slice(thousand * 1000, thousand * 1000 + 1000)
      const script = some.map(([a, b]) => `print(rpm.vercmp("${a}","${b}")," ")`).join(' ')
      return execFileSync('rpm', ['--eval', `%{lua: ${script}}`], MEBIBYTES)
        .toString()
        .trim()
        .split(/\s+/)
        .map(Number)
    }).flat()
    expect(answers.length).toBe(ROUNDS)
    const wrong = pairs.filter(([a, b], index) => Math.sign(rpmFormat.versions.compare(a, b)) !== answers[index])
    expect(wrong).toEqual([])
    expect(new Set(answers).size).toBe(3)
  })

  describe('our signature', () => {
    let keys: Keys
    let database: string
    const check = (path: string) =>
      run('rpmkeys', ['--dbpath', database, ...STRICT, '--checksig', '--verbose', path]).then(
        ({ stdout }) => ({ good: true, text: stdout }),
        (error: { stdout: string }) => ({ good: false, text: error.stdout }),
      )

    beforeAll(async () => {
      keys = await openKeys(join(directory, 'keys'), new Date('2026-11-01T00:00:00Z'))
      database = join(directory, 'database')
      await writeFile(join(directory, 'key.asc'), keys.openpgp.publicKeyArmored)
      await run('rpmkeys', ['--dbpath', database, '--import', join(directory, 'key.asc')])
    })

    it('passes rpmkeys, and fails after any byte is changed', async () => {
      let flipped = 0
      for (const path of packages) {
        const to = join(directory, `signed-${basename(path)}`)
        await rpmFormat.sign!(path, to, keys, new Date('2026-11-02T00:00:00Z'))
        expect((await check(path)).good, basename(path)).toBe(false)
        const { good, text } = await check(to)
        expect(good, `${basename(path)} ${text}`).toBe(true)
        expect(text, basename(path)).toMatch(/Header V4 RSA\/SHA512 Signature, key ID [0-9a-f]{8}: OK/)
        expect(text, basename(path)).not.toMatch(/BAD|NOKEY|NOTFOUND/)
        const signed = await rpmFormat.read(to)
        expect(signed.signatures, basename(path)).toEqual([
          { keyId: keys.openpgp.fingerprint.slice(-16), algorithm: 'RSA' },
        ])
        expect({ ...signed, signatures: [], record: null }).toEqual({
          ...facts.get(path)!,
          signatures: [],
          record: null,
        })
        expect(await verifySignature(to, [keys.openpgp.publicKeyArmored])).toEqual({
          outcome: 'verified',
          keyId: keys.openpgp.fingerprint.slice(-16),
        })

        const bytes = await readFile(to)
        const { headerStart, headerEnd } = signed.record
        for (const at of [
          headerStart + 100,
          Math.floor((headerStart + headerEnd) / 2),
          headerEnd + 20,
          bytes.length - 1,
        ]) {
          const changed = Buffer.from(bytes)
          changed[at]! ^= 1
          const damaged = join(directory, 'damaged.rpm')
          await writeFile(damaged, changed)
          expect((await check(damaged)).good, `${basename(path)} at ${at}`).toBe(false)
          expect((await verifySignature(damaged, [keys.openpgp.publicKeyArmored])).outcome).toBe('invalid')
          flipped++
        }
        await rm(to)
      }
      expect(flipped).toBe(4 * packages.length)
    })

    it('replaces another signature', async () => {
      const others = await openKeys(join(directory, 'others'), new Date('2026-10-01T00:00:00Z'))
      const [path] = packages
      const once = join(directory, 'once.rpm')
      const twice = join(directory, 'twice.rpm')
      await rpmFormat.sign!(path!, once, others, new Date('2026-11-02T00:00:00Z'))
      expect((await check(once)).text).toContain('NOKEY')
      expect((await verifySignature(once, [keys.openpgp.publicKeyArmored])).outcome).toBe('unknown_key')
      await rpmFormat.sign!(once, twice, keys, new Date('2026-11-03T00:00:00Z'))
      const { good, text } = await check(twice)
      expect(good, text).toBe(true)
      expect(text).not.toContain('NOKEY')
    })

    it('gets the same result from our check as from rpm, for every kind of key', async () => {
      for (const kind of ['rsa2048', 'rsa4096', 'ed25519']) {
        const home = join(directory, kind)
        await mkdir(home, { mode: 0o700 })
        const gpg = (...args: string[]) => run('gpg', ['--homedir', home, '--batch', '--passphrase', '', ...args])
        await gpg('--quick-generate-key', `${kind} <${kind}@example.org>`, kind, 'sign')
        const { stdout: armored } = await gpg('--armor', '--export')
        await writeFile(join(home, 'key.asc'), armored)
        await run('rpmkeys', ['--dbpath', database, '--import', join(home, 'key.asc')])
        const path = join(home, 'signed.rpm')
        await copyFile(packages[0]!, path)
        const definitions = { __gpg: '/usr/bin/gpg', _gpg_path: home, _gpg_name: kind }
        const options = Object.entries(definitions).flatMap(([name, value]) => ['--define', `${name} ${value}`])
        await run('rpmsign', [...options, '--addsign', path])
        expect(await check(path), kind).toMatchObject({ good: true })
        expect(await verifySignature(path, [keys.openpgp.publicKeyArmored, armored]), kind).toMatchObject({
          outcome: 'verified',
        })
        expect(await verifySignature(path, [keys.openpgp.publicKeyArmored]), kind).toMatchObject({
          outcome: 'unknown_key',
        })
        await run('gpgconf', ['--homedir', home, '--kill', 'all'])
      }
    })
  })

  function query(format: string): string[] {
    return packages.map((path) => queryOne(format, path))
  }

  function queryOne(format: string, path: string): string {
    return execFileSync('rpm', ['-qp', '--nosignature', '--qf', format, path], {
      ...MEBIBYTES,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).toString()
  }
})

async function stored(path: string, read: PackageFacts<RpmRecord>): Promise<StoredPackage<RpmRecord>> {
  const bytes = await readFile(path)
  const digest = (kind: string) => createHash(kind).update(bytes).digest('hex')
  return {
    facts: read,
    filename: rpmFormat.filename(read),
    sizeBytes: bytes.length,
    digests: { md5: digest('md5'), sha1: digest('sha1'), sha256: digest('sha256'), sha512: digest('sha512') },
    addedAt: Math.floor((await stat(path)).mtimeMs / 1000),
  }
}

/** Realistic packages for rpmbuild: each kind of payload once, then in turn. */
function specs(): { text: string; payload: string; arch: string }[] {
  const full = (name: string, extra: string, body = '') => `
Name: ${name}
Version: 1.2~rc1^git3
Release: 4.el9
Epoch: 2
Summary: Tools & <libraries> for "${name}"
License: GPL-2.0-or-later AND (MIT OR Apache-2.0)
URL: https://example.org/?a=1&b=2
Vendor: Exämple & Söhne
Packager: Jürgen Müller <j@example.org>
Group: System Environment/Base
${extra}
%description
First line, with <angle> & ampersand.

  Indented "quoted" text: äöü €.
\tA tab.
%prep
%build
%install
mkdir -p %{buildroot}/usr/bin %{buildroot}/etc/${name} %{buildroot}/usr/lib %{buildroot}/usr/share/${name}/sbin "%{buildroot}/usr/share/${name}/with space" %{buildroot}/var/lib/${name}
printf '#!/bin/sh\\necho ${name}\\n' > %{buildroot}/usr/bin/${name}
chmod 755 %{buildroot}/usr/bin/${name}
echo conf > %{buildroot}/etc/${name}/a.conf
ln -s ../bin/${name} %{buildroot}/usr/lib/sendmail
echo data > "%{buildroot}/usr/share/${name}/with space/Ünïcode & <x>.txt"
head -c 100000 /dev/zero > %{buildroot}/usr/share/${name}/zeros
ln %{buildroot}/usr/share/${name}/zeros %{buildroot}/usr/share/${name}/zeros2
echo x > %{buildroot}/usr/share/${name}/sbin/x
%files
%dir /etc/${name}
%config(noreplace) /etc/${name}/a.conf
/usr/bin/${name}
/usr/lib/sendmail
/usr/share/${name}
%ghost /var/lib/${name}/ghost.db
%ghost %dir /var/lib/${name}
%ghost /etc/${name}/ghost.conf
${body}
`
  const simple = (name: string, extra: string, body = '') => `
Name: ${name}
Version: 1.0
Release: 1
Summary: ${name}
License: MIT
${extra}
%description
%prep
%build
%install
%files
${body}
`
  const everyKind = `
Requires: foo >= 1:2.3-4
Requires: foo < 3
Requires: bar = 1.0
Requires: bar = 1.0
Requires: baz
Requires: /usr/bin/env
Requires: /usr/share/other/file
Requires: libc.so.6(GLIBC_2.34)(64bit)
Requires: libc.so.6(GLIBC_2.4)(64bit)
Requires: libc.so.6()(64bit)
Requires: libm.so.6()(64bit)
Requires: (rich-a or rich-b >= 2)
Requires: (rich-c and rich-d)
Requires: (rich-e if rich-f else rich-g)
Requires: (rich-h >= 1 with rich-h < 2)
Requires: (rich-i without rich-j)
Requires: ((rich-k and rich-l) or rich-m)
Requires(pre): shadow-utils
Requires(post): baz
Requires(preun): systemd
Requires(postun): systemd >= 250
Requires(pretrans): coreutils
Requires(posttrans): findutils
Recommends: rec >= 1
Recommends: (rec-a or rec-b)
Suggests: sug
Supplements: (sup and other)
Enhances: enh = 3
Provides: virtual
Provides: virtual(x) = 1.5
Provides: virtual(y) >= 7
Provides: virtual(z) = 3:1.5-2
Conflicts: con < 5
Conflicts: con-any
Obsoletes: obs <= 1:0
Obsoletes: obs-any
`
  const scripts = `
%pretrans -p <lua>
print("x")
%pre
echo pre
%post -p /sbin/ldconfig
%preun
echo preun
%postun -p /sbin/ldconfig
%posttrans
echo posttrans
%triggerin -- other > 1
echo trigger
%triggerun -- third
echo trigger2
%filetriggerin -- /usr/share/x
echo filetrigger
%transfiletriggerin -- /usr/share/y
echo transfiletrigger
%verifyscript
echo verify
`
  const day = 86400
  const dates = Array.from({ length: 14 }, (_, index) => new Date((1_700_000_000 - index * 40 * day) * 1000))
  const log = (date: Date, text: string) => {
    const [week, dayOfMonth, month, year] = date.toUTCString().replace(',', '').split(' ')
    return `* ${week} ${month} ${dayOfMonth} ${year} Jürgen "J" <j@example.org> - 2:1.2-4\n- ${text} & <more>\n- second`
  }
  const changelog = `%changelog\n${dates.map((date, index) => log(date, `change ${index}`)).join('\n\n')}\n`
  const sameDay = `%changelog\n${[1, 2, 3].map((index) => log(new Date(1_700_000_000_000), `same day ${index}`)).join('\n\n')}\n`

  return [
    ...PAYLOADS.map((payload, index) => ({
      text: full(
        `full${index}`,
        index % 2 ? 'BuildArch: noarch' : everyKind.replace('libm', `lib${index}`),
        index % 3 ? changelog : scripts,
      ),
      payload,
      arch: index % 2 ? 'noarch' : 'x86_64',
    })),
    { text: simple('empty', 'BuildArch: noarch'), payload: 'w6.xzdio', arch: 'noarch' },
    { text: simple('kinds', everyKind), payload: 'w3.zstdio', arch: 'x86_64' },
    { text: simple('scripts', 'BuildArch: noarch', scripts), payload: 'w3.zstdio', arch: 'noarch' },
    { text: simple('onlyghost', '', '%ghost /run/x\n%ghost /usr/bin/ghost'), payload: 'w6.gzdio', arch: 'x86_64' },
    { text: simple('sameday', '', sameDay), payload: 'w6.gzdio', arch: 'x86_64' },
    { text: simple('zeroepoch', 'Epoch: 0\nProvides: a = 0:1'), payload: 'w6.gzdio', arch: 'x86_64' },
    {
      text: simple('c++-tool_x.y', 'Requires: c++-tool_x.y = 1.0-1\nRequires: self\nProvides: self'),
      payload: 'w6.gzdio',
      arch: 'x86_64',
    },
    {
      text: simple('own-files', 'Requires: /usr/bin/own\nRequires: /opt/own/x', '').replace(
        '%install\n%files\n',
        '%install\nmkdir -p %{buildroot}/usr/bin %{buildroot}/opt/own\ntouch %{buildroot}/usr/bin/own %{buildroot}/opt/own/x\n%files\n/usr/bin/own\n/opt/own/x\n',
      ),
      payload: 'w6.gzdio',
      arch: 'x86_64',
    },
  ]
}

function ours(): Record<string, SampleRpm> {
  return {
    plain: {},
    none: { compression: 'none' },
    xz: { compression: 'xz' },
    lzma: { compression: 'lzma' },
    zstd: { compression: 'zst' },
    stripped: {
      stripped: true,
      files: [
        { path: '/usr/bin/a', content: 'one' },
        { path: '/usr/bin/dir', kind: 'directory' },
        { path: '/usr/bin/l', kind: 'link', content: 'a' },
        { path: '/var/ghost', kind: 'ghost' },
        { path: '/usr/bin/z', content: 'four' },
      ],
    },
    noarch: { arch: 'noarch', epoch: 7 },
    nofiles: { files: [] },
    latin1: {
      tags: { 1004: i18n(Buffer.from('Caf\xe9 & more', 'latin1')), 1015: string(Buffer.from('J\xfcrgen', 'latin1')) },
    },
    blanks: { tags: { 1004: i18n('  blanks  '), 1005: i18n('\n line\r\n\ttab \n\n'), 1011: string('') } },
    minimal: {
      tags: { 1004: null, 1005: null, 1007: null, 1011: null, 1014: null, 1015: null, 1016: null, 1020: null },
    },
    modular: { tags: { 5096: string('nodejs:18:8080020230718:489197e6') } },
    root: {
      files: [
        { path: '/', kind: 'directory' },
        { path: '/.hidden', content: 'x' },
        { path: '/bin/x', content: 'y' },
      ],
    },
    oldnames: {
      files: [{ path: '/usr/bin/old', content: 'x' }],
      tags: { 1027: strings('/usr/bin/old'), 1116: null, 1117: null, 1118: null },
    },
    // In the form of rpm before 4.14: the header does not state the digest of the payload.
    old: { tags: { 5092: null, 5093: null, 5097: null } },
    oldest: { tags: { 5092: null, 5093: null, 5097: null }, signatureTags: { 273: null, 1008: null } },
    // In the form of rpm 6.
    six: { v6: true, files: [{ path: '/usr/bin/six', content: 'six' }] },
    'six-zstd': { v6: true, compression: 'zst', stripped: true, requires: ['a = 1'] },
    long: { tags: { 5009: { type: 'int64', values: [5_000_000_000] }, 1009: null } },
    dependencies: {
      requires: [
        'a = 1',
        'a = 1',
        { text: 'a = 1', flags: 1 << 9 },
        { text: 'b', flags: 1 << 6 },
        'libc.so.6(GLIBC_2.9)',
        'libc.so.6(GLIBC_2.10)',
        'last',
        'q"uote',
      ],
      provides: ['v = 1:2-3', 'v >= 2', 'w'],
      recommends: ['r > 1'],
      suggests: ['s < 1'],
      supplements: ['t'],
      enhances: ['u <= 1-1'],
    },
    ...Object.fromEntries(
      [[3, 3, 3], [4, 3, 3], [3, 3, 4, 3], [5, 4, 4, 4, 1, 1, 5, 5], Array.from({ length: 14 }, () => 1)].map(
        (times, index) => [
          `times${index}`,
          { changelogs: times.map((time, at) => ({ time: 1_600_000_000 + time, author: 'A', text: String(at) })) },
        ],
      ),
    ),
    changelogs: {
      changelogs: [
        { time: 1_700_000_000, author: 'A', text: '- newest' },
        { time: 1_700_000_000, author: 'A', text: '- same second' },
        { time: 1_600_000_000, author: 'B & C', text: '- oldest\n\n' },
      ],
    },
  }
}

interface XmlNode {
  name: string
  attributes: Record<string, string>
  children: XmlNode[]
  text: string
}

/** XML as these documents use it: elements, attributes, text. */
function parseXml(document: string): XmlNode {
  const top: XmlNode = { name: '', attributes: {}, children: [], text: '' }
  const stack = [top]
  for (const [, end, name, attributes, empty, text] of document.matchAll(
    /<(\/?)([\w:?]+)((?:\s+[\w:]+="[^"]*")*)\s*([/?]?)>|([^<]+)/g,
  )) {
    const current = stack.at(-1)!
    if (text !== undefined) current.text += unescape(text)
    else if (end) stack.pop()
    else if (!name!.startsWith('?')) {
      const node: XmlNode = { name: name!, attributes: {}, children: [], text: '' }
      for (const [, key, value] of attributes!.matchAll(/([\w:]+)="([^"]*)"/g)) node.attributes[key!] = unescape(value!)
      current.children.push(node)
      if (!empty) stack.push(node)
    }
  }
  return top.children[0]!
}

function unescape(text: string): string {
  const names: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
  return text.replace(/&(?:#(x?)([0-9a-fA-F]+)|(\w+));/g, (_, hex: string, number: string, name: string) =>
    name ? names[name]! : String.fromCodePoint(parseInt(number, hex ? 16 : 10)),
  )
}

function pkgidOf(node: XmlNode): string {
  return node.attributes.pkgid ?? node.children.find((child) => child.name === 'checksum')!.text
}

/** Removes the location, which must differ, and white space between elements. */
function comparable(node: XmlNode): unknown {
  const { name, attributes, children, text } = node
  if (name === 'location') return { name }
  if (children.length > 0) return { name, attributes, children: children.map(comparable) }
  return { name, attributes, text }
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
    '.',
    '.',
    '_',
    '+',
    '~',
    '~~',
    '^',
    '^^',
    '~^',
    'a',
    'b',
    'Z',
    'rc',
    'git',
    '99999999999999999999',
    '99999999999999999998',
  ]
  const text = () => Array.from({ length: 1 + random(6) }, () => pieces[random(pieces.length)]).join('')
  return Array.from({ length: count }, () => {
    const a = text()
    const at = random(a.length)
    const b = random(3) === 0 ? text() : a.slice(0, at) + pieces[random(pieces.length)]! + a.slice(at + random(2))
    return [a, b]
  })
}
