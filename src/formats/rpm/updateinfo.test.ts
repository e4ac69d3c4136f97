// Which advisories updateinfo lists, with which packages, and in what XML.
import { describe, expect, it } from 'vitest'
import type { Advisory, AffectedPackage } from '../../domain/advisory.ts'
import type { OfferedFile } from '../format.ts'
import { fixesOf, renderUpdateinfo, updateinfoPath } from './updateinfo.ts'

const advisory = (fields: Partial<Advisory> = {}): Advisory => ({
  id: 'ALSA-2026:1234',
  modified: '2026-11-01T10:20:30Z',
  withdrawn: null,
  severity: 'High',
  cvss: 7.5,
  summary: 'Important: tool <security> & update',
  cves: ['CVE-2026-1', 'CVE-2026-2'],
  aliases: [],
  urls: ['https://example.org/a?b=1&c=2'],
  notes: { 'CVE-2026-1': 'a note' },
  security: true,
  ...fields,
})

const affected = (name: string, fixed: string, fields: Partial<AffectedPackage> = {}): AffectedPackage => ({
  ecosystem: 'AlmaLinux:9',
  package: name,
  ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed }] }],
  versions: [],
  severity: null,
  cvss: null,
  wontFix: false,
  stream: null,
  ...fields,
})

const offered = (name: string, version: string, arch = 'x86_64'): OfferedFile => ({
  facts: { name, version, arch },
  filename: `${name}-${version.replace(/^\d+:/, '')}.${arch}.rpm`,
})

const told = (known: Parameters<typeof fixesOf>[0], packages: OfferedFile[]) =>
  fixesOf(known, packages).map(({ advisory: { id }, packages: fixing }) => [
    id,
    ...fixing.map(({ filename }) => filename),
  ])

describe('the packages of an advisory', () => {
  const known = [{ advisory: advisory(), affected: [affected('tool', '1:2.0-3.el9')] }]

  it('are the lowest offered version of each architecture that has the fix', () => {
    const versions = ['1:2.0-2.el9', '1:2.0-10.el9', '1:2.0-3.el9', '1:2.0-3.el9_1', '9.0-1']
    expect(
      told(known, [...versions.map((version) => offered('tool', version)), offered('tool', '1:2.1-1', 'noarch')]),
    ).toEqual([['ALSA-2026:1234', 'tool-2.0-3.el9.x86_64.rpm', 'tool-2.1-1.noarch.rpm']])
  })

  it('omit those that are only affected, absent or of another name', () => {
    expect(told(known, [offered('tool', '1:2.0-2.el9'), offered('tools', '3:1-1')])).toEqual([])
    expect(told(known, [])).toEqual([])
  })

  it.each([
    [
      'a withdrawn advisory',
      [{ advisory: advisory({ withdrawn: '2026-11-02T00:00:00Z' }), affected: [affected('tool', '1-1')] }],
    ],
    ['a module’s', [{ advisory: advisory(), affected: [affected('tool', '1-1', { stream: '16' })] }]],
    [
      'one without a fix',
      [
        {
          advisory: advisory(),
          affected: [affected('tool', '1-1', { ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }] }] })],
        },
      ],
    ],
  ] as const)('is nothing of %s', (_, given) => {
    expect(told(given, [offered('tool', '2-1')])).toEqual([])
  })

  it('are in the same order for any order of input', () => {
    const two = [
      ...known,
      { advisory: advisory({ id: 'ALSA-2026:1' }), affected: [affected('b', '1-1'), affected('a', '1-1')] },
    ]
    const packages = [offered('b', '1-1'), offered('tool', '5:1-1'), offered('a', '2-1')]
    const expected = [
      ['ALSA-2026:1', 'a-2-1.x86_64.rpm', 'b-1-1.x86_64.rpm'],
      ['ALSA-2026:1234', 'tool-1-1.x86_64.rpm'],
    ]
    expect(told(two, packages)).toEqual(expected)
    expect(told([...two].reverse(), [...packages].reverse())).toEqual(expected)
  })
})

describe('updateinfo.xml', () => {
  const render = (fields: Partial<Advisory> = {}) =>
    renderUpdateinfo(
      [{ advisory: advisory(fields), packages: [offered('tool', '1:2.0~rc1-3.el9'), offered('any', '1-1', 'noarch')] }],
      'almalinux9',
    )

  it('names packages by epoch, version and release', () => {
    const text = render()
    expect(text).toContain(
      '<package name="tool" epoch="1" version="2.0~rc1" release="3.el9" arch="x86_64"><filename>tool-2.0~rc1-3.el9.x86_64.rpm</filename></package>',
    )
    expect(text).toContain('<package name="any" epoch="0" version="1" release="1" arch="noarch">')
  })

  it('describes an advisory, with its text escaped', () => {
    const text = render()
    expect(text).toContain('<update from="Gatehouse" status="final" type="security" version="1">')
    expect(text).toContain('<title>Important: tool &lt;security&gt; &amp; update</title>')
    expect(text).toContain('<issued date="2026-11-01 10:20:30"/>')
    expect(text).toContain('id="CVE-2026-2" title="CVE-2026-2" type="cve"/>')
    expect(text).toContain('href="https://example.org/a?b=1&amp;c=2"')
    expect(text).toContain('CVE-2026-1: a note')
    expect(render({ security: false })).toContain('type="bugfix"')
    expect(render({ summary: null })).toContain('<title>ALSA-2026:1234</title>')
  })

  it.each([
    ['Critical', 'Critical'],
    ['High', 'Important'],
    ['Medium', 'Moderate'],
    ['Low', 'Low'],
    ['Unknown', 'None'],
  ] as const)('says %s as %s', (severity, word) => {
    expect(render({ severity })).toContain(`<severity>${word}</severity>`)
  })

  it('is a valid document without advisories', () => {
    expect(renderUpdateinfo([], 'almalinux9')).toBe('<?xml version="1.0" encoding="UTF-8"?>\n<updates>\n</updates>\n')
  })

  it('is in repodata under its digest', () => {
    expect(updateinfoPath('ab', 'aarch64')).toBe('aarch64/repodata/ab-updateinfo.xml.gz')
  })
})
