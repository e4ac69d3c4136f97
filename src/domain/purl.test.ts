// Package URLs: encoding, and the two ids that are split before they are encoded.
import { describe, expect, test } from 'vitest'
import { encodePurlPart, formatPackageUrl, splitEpoch, splitScannerDistro } from './purl.ts'

describe('splitEpoch', () => {
  test.each([
    ['4.4-1', null, '4.4-1'],
    ['0:4.4-1', null, '4.4-1'],
    ['00:4.4-1', null, '4.4-1'],
    ['1:4.4-1', '1', '4.4-1'],
    ['01:4.4-1', '1', '4.4-1'],
    ['32:9.11-3', '32', '9.11-3'],
    ['10:1-1', '10', '1-1'],
    ['1:2:3-4', '1', '2:3-4'],
    ['a:1', null, 'a:1'],
    [':1', null, ':1'],
    ['1:', '1', ''],
    ['', null, ''],
  ])('splits %j into epoch %j and %j', (version, epoch, rest) => {
    expect(splitEpoch(version)).toEqual({ epoch, rest })
  })
})

describe('splitScannerDistro', () => {
  test.each([
    ['ubuntu:22.04', 'ubuntu', '22.04'],
    ['opensuse/leap:15.6', 'opensuse/leap', '15.6'],
    ['opensuse/tumbleweed:latest', 'opensuse/tumbleweed', 'latest'],
    ['arch', 'arch', ''],
  ])('splits %j into %j and %j', (scannerDistro, system, release) => {
    expect(splitScannerDistro({ scannerDistro })).toEqual({ system, release })
  })
})

describe('encodePurlPart', () => {
  test.each([
    ['a-b.c_d~e:f', 'a-b.c_d~e:f'],
    ['libstdc++6', 'libstdc%2B%2B6'],
    ['a/b@c?d#e&f%', 'a%2Fb%40c%3Fd%23e%26f%25'],
    ["!'()*", '%21%27%28%29%2A'],
    ['ä', '%C3%A4'],
  ])('encodes %j as %j', (text, encoded) => expect(encodePurlPart(text)).toBe(encoded))
})

describe('formatPackageUrl', () => {
  test('sorts qualifiers and leaves out empty ones', () => {
    const url = { type: 'rpm', namespace: 'rocky', name: 'bind', version: '9.11-3' }
    expect(formatPackageUrl({ ...url, qualifiers: { epoch: '32', arch: 'noarch', upstream: null, distro: '' } })).toBe(
      'pkg:rpm/rocky/bind@9.11-3?arch=noarch&epoch=32',
    )
  })

  test('leaves out a missing namespace, version and query', () => {
    expect(formatPackageUrl({ type: 'npm', namespace: null, name: 'left-pad', version: null })).toBe('pkg:npm/left-pad')
  })
})
