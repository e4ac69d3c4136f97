import { describe, expect, it } from 'vitest'
import { REPO_FORMAT_WORDS } from '../config/repo-format.ts'
import { findDistribution, formatOf, formats, recognize, switchedOn } from './index.ts'

describe('the registry of formats', () => {
  it('has each format once, and no codename twice', () => {
    expect(new Set(formats.map((format) => format.id)).size).toBe(formats.length)
    const codenames = formats.flatMap((format) => format.distributions.map(({ codename }) => codename))
    expect(new Set(codenames).size).toBe(codenames.length)
  })

  it.each([
    ['apt', ['deb']],
    ['rpm', ['rpm']],
    ['apk', ['apk']],
    ['both', ['deb', 'rpm']],
    ['all', ['deb', 'rpm', 'apk']],
  ] as const)('switches on for REPO_FORMAT %s: %j', (repoFormat, ids) => {
    expect(switchedOn(REPO_FORMAT_WORDS[repoFormat]).map(({ id }) => id)).toEqual(ids)
  })

  it('names each distribution for scanners', () => {
    for (const format of formats) {
      for (const distribution of format.distributions) {
        expect(distribution.format).toBe(format.id)
        expect(distribution.scannerDistro).toMatch(/^[a-z/-]+:[a-z0-9.]+$/)
      }
    }
    expect(findDistribution('focal')?.distribution).toMatchObject({
      scannerDistro: 'ubuntu:20.04',
      architectures: ['amd64'],
      component: 'main',
    })
    expect(findDistribution('bookworm')?.distribution.scannerDistro).toBe('debian:12')
  })

  it('finds formats by id, codename and first bytes, and reports unknown ones', () => {
    expect(formatOf('deb').id).toBe('deb')
    expect(() => formatOf('exe')).toThrow('no format exe')
    expect(findDistribution('noble')?.format.id).toBe('deb')
    expect(findDistribution('warty')).toBeNull()
    expect(recognize(Buffer.from('!<arch>\ndebian-binary   '))?.id).toBe('deb')
    expect(recognize(Buffer.from('hello'))).toBeNull()
  })
})
