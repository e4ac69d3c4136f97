import { PackageURL } from 'packageurl-js'
import { expect, test } from 'vitest'
import type { Offered } from '../../formats/format.ts'
import { findDistribution, formats } from '../../formats/index.ts'
import { libraryPurlOf, purlOf } from './purl.ts'

const of = (codename: string) => findDistribution(codename) as Offered

test.each([
  ['jammy', 'curl', '7.81.0-1', 'amd64', 'pkg:deb/ubuntu/curl@7.81.0-1?arch=amd64&distro=ubuntu-22.04'],
  ['bookworm', 'attr', '1:2.4.47-2+b1', 'amd64', 'pkg:deb/debian/attr@1:2.4.47-2%2Bb1?arch=amd64&distro=debian-12'],
  ['jammy', 'libstdc++6', '12~rc1-3', 'all', 'pkg:deb/ubuntu/libstdc%2B%2B6@12~rc1-3?arch=all&distro=ubuntu-22.04'],
  [
    'almalinux9',
    'curl',
    '7.76.1-14.el9',
    'x86_64',
    'pkg:rpm/almalinux/curl@7.76.1-14.el9?arch=x86_64&distro=almalinux-9',
  ],
  [
    'rocky8',
    'bind',
    '32:9.11.36-3.el8^1',
    'noarch',
    'pkg:rpm/rocky/bind@9.11.36-3.el8%5E1?arch=noarch&distro=rocky-8&epoch=32',
  ],
  ['oraclelinux8', 'bash', '0:4.4-1', 'x86_64', 'pkg:rpm/oracle/bash@4.4-1?arch=x86_64&distro=ol-8'],
  [
    'opensuse-leap-15.6',
    'MozillaFirefox',
    '1-1',
    'x86_64',
    'pkg:rpm/opensuse/MozillaFirefox@1-1?arch=x86_64&distro=opensuse-leap-15.6',
  ],
  ['opensuse-tumbleweed', 'a', '1-1', 'x86_64', 'pkg:rpm/opensuse/a@1-1?arch=x86_64&distro=opensuse-tumbleweed'],
  ['alpine3.20', 'R', '4.4.0-r1', 'x86_64', 'pkg:apk/alpine/r@4.4.0-r1?arch=x86_64&distro=alpine-3.20'],
] as const)('a package of %s, %s %s %s, gets a package URL', (codename, name, version, arch, expected) => {
  const purl = purlOf({ name, version, arch }, of(codename))
  expect(purl).toBe(expected)
  expect(PackageURL.fromString(purl).toString()).toBe(new PackageURL(...partsOf(purl)).toString())
})

test('a source package with another name is written as `upstream`, which scanners use to find advisories', () => {
  const jammy = of('jammy')
  const named = { name: 'libssl3', version: '3.0.2-0ubuntu1.10', arch: 'amd64' } as const
  expect(purlOf({ ...named, source_package: 'openssl' }, jammy)).toMatch(/&upstream=openssl$/)
  expect(purlOf({ ...named, source_package: 'openssl', source_version: '1:3.0+x' }, jammy)).toMatch(
    /&upstream=openssl%401:3.0%2Bx$/,
  )
  expect(purlOf({ ...named, source_package: 'libssl3', source_version: null }, jammy)).not.toContain('upstream')
})

test('every distribution has a vendor and a release that a package URL parser returns', () => {
  const all = formats.flatMap((format) => format.distributions.map((distribution) => ({ format, distribution })))
  for (const offered of all) {
    const parsed = PackageURL.fromString(purlOf({ name: 'a', version: '1:2-3', arch: 'noarch' }, offered))
    expect([parsed.type, parsed.name, parsed.namespace]).toEqual([
      offered.format.id,
      'a',
      expect.stringMatching(/^[a-z]+$/),
    ])
    expect(parsed.qualifiers?.['distro']).toMatch(/^[a-z-]+(-[0-9.]+)?$/)
  }
})

test('names and versions with special characters survive parsing', () => {
  const almalinux = of('almalinux9')
  for (const odd of ['a b', 'ä/ö', 'a@b', 'a?b#c', '100%', 'a&b=c', "a'(b)*!", 'a:b', '..']) {
    const parsed = PackageURL.fromString(purlOf({ name: odd, version: `v${odd}`, arch: 'x' }, almalinux))
    expect([parsed.name, parsed.version, parsed.qualifiers?.['arch']]).toEqual([odd, `v${odd}`, 'x'])
  }
})

test.each([
  [{ type: 'npm', name: '@Scope/Name', version: '1.0.0-rc.1+x' }, 'pkg:npm/%40scope/name@1.0.0-rc.1%2Bx'],
  [{ type: 'npm', name: 'left-pad', version: null }, 'pkg:npm/left-pad'],
  [{ type: 'pypi', name: 'Ruamel_Yaml', version: '0.17' }, 'pkg:pypi/ruamel-yaml@0.17'],
  [
    { type: 'maven', name: 'org.apache.logging.log4j:log4j-core', version: '2.14.1' },
    'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1',
  ],
  [{ type: 'maven', name: 'nogroup', version: '1' }, 'pkg:maven/nogroup@1'],
] as const)('an embedded component %o gets a package URL', (component, expected) => {
  expect(libraryPurlOf(component)).toBe(expected)
})

function partsOf(purl: string): ConstructorParameters<typeof PackageURL> {
  const { type, namespace, name, version, qualifiers, subpath } = PackageURL.fromString(purl)
  return [type, namespace, name, version, qualifiers, subpath]
}
