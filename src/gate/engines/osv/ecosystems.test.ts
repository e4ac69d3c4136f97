import { describe, expect, test } from 'vitest'
import { ecosystemOf, orderName, packageKey } from './ecosystems.ts'

describe('a distribution is covered by', () => {
  test.each([
    [
      'ubuntu:22.04',
      'deb',
      ['Ubuntu:22.04:LTS', 'Ubuntu:22.04', 'Ubuntu:Pro:22.04:LTS'],
      [
        'Ubuntu:20.04:LTS',
        'Ubuntu:Pro:FIPS-updates:22.04:LTS',
        'Ubuntu:Pro:22.04:LTS:Realtime:Kernel',
        'Ubuntu:22.04:LTS:for:NVIDIA:BlueField',
      ],
    ],
    ['debian:12', 'deb', ['Debian:12', 'Debian'], ['Debian:11', 'Debian:1', 'Debian:120']],
    ['almalinux:9', 'rpm', ['AlmaLinux:9', 'AlmaLinux'], ['AlmaLinux:8', 'Rocky Linux:9']],
    ['rockylinux:9', 'rpm', ['Rocky Linux:9'], ['AlmaLinux:9', 'Rocky Linux:8']],
    [
      'centos:9',
      'rpm',
      ['Red Hat:enterprise_linux:9', 'Red Hat:enterprise_linux:9::appstream', 'Red Hat:enterprise_linux:9.4::baseos'],
      ['Red Hat:rhel_eus:9.2::appstream', 'Red Hat:enterprise_linux:8::baseos', 'Red Hat:enterprise_linux:90::baseos'],
    ],
    [
      'opensuse/leap:15.6',
      'rpm',
      ['openSUSE:Leap 15.6', 'openSUSE:openSUSE Leap 15.6'],
      ['openSUSE:Leap 15.5', 'openSUSE:Tumbleweed'],
    ],
    ['opensuse/tumbleweed:latest', 'rpm', ['openSUSE:Tumbleweed'], ['openSUSE:Leap 15.6']],
    ['alpine:3.20', 'apk', ['Alpine:v3.20'], ['Alpine:v3.2', 'Alpine:edge']],
  ])('%s', (distro, order, covered, others) => {
    const ecosystem = ecosystemOf(distro)!
    expect(ecosystem.order).toBe(order)
    for (const name of covered) expect(ecosystem.covers(name), name).toBe(true)
    for (const name of others) expect(ecosystem.covers(name), name).toBe(false)
  })
})

test.each(['fedora:42', 'oraclelinux:8', 'constructor:1', '', 'debian'])('%s has none', (distro) =>
  expect(ecosystemOf(distro)).toBeNull(),
)

test('versions follow the format of the ecosystem', () => {
  expect(
    ['Debian:12', 'Rocky Linux:9', 'Alpine:v3.20', 'npm', 'PyPI', 'Maven:https://x.example'].map(orderName),
  ).toEqual(['deb', 'rpm', 'apk', 'npm', 'PyPI', 'Maven'])
  expect(orderName('crates.io')).toBeNull()
  expect(orderName('toString')).toBeNull()
})

test('Python names are normalized by PEP 503, others are unchanged', () => {
  expect(packageKey('PyPI', 'Zope.Interface__x')).toBe('zope-interface-x')
  expect(packageKey('npm', 'Some.Name')).toBe('Some.Name')
})
