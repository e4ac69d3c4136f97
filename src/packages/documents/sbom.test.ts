import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { componentOf, dependsOn, namesIn, openDocuments, type Documents } from './documents.fixture.ts'
import { ARRIVAL, insertRecord, need } from './fixture.ts'

let documents: Documents
beforeAll(async () => void (documents = await openDocuments()))
afterAll(() => documents.close())
beforeEach(() => documents.clear())

const insert = (sample: Parameters<typeof insertRecord>[1]) => insertRecord(documents.db, sample)

describe('an empty repository', () => {
  test('makes a valid document of every kind without a time', async () => {
    const bom = await documents.ofRepository('cyclonedx')
    expect(bom).toMatchObject({ specVersion: '1.5', components: [], dependencies: [], vulnerabilities: [] })
    expect(bom.metadata.timestamp).toBeUndefined()
    expect(await documents.ofRepository('spdx')).toMatchObject({
      packages: [],
      relationships: [{ relationshipType: 'DESCRIBES', relatedSpdxElement: 'NONE' }],
      creationInfo: { created: '1970-01-01T00:00:00Z' },
    })
    expect(await documents.valid('sarif', await documents.make().sarifOfRepository(undefined))).toMatchObject({
      runs: [{ results: [], tool: { driver: { rules: [] } } }],
    })
    expect(await documents.valid('openvex', await documents.make().openvex(undefined))).toMatchObject({
      statements: [],
    })
    expect(await documents.make().preview(undefined, 'spdx')).toMatchObject({
      total_packages: 0,
      format: 'spdx',
      preview: { packages: [] },
    })
  })
})

describe('the fields of a component', () => {
  const everything = {
    name: 'full',
    license: 'GPL-2.0-or-later AND MIT',
    maintainer: 'A Team <team@example.org>',
    description: 'Is all.',
    url: 'https://example.org/full?a=b',
    sourcePackage: 'source',
    sourceVersion: '2.0',
  } as const

  test('CycloneDX', async () => {
    const { sha256 } = await insert(everything)
    const bom = await documents.ofPackage('cyclonedx', 'full')
    expect(componentOf(bom, 'full')).toMatchObject({
      type: 'library',
      version: '1.0-1',
      purl: 'pkg:deb/ubuntu/full@1.0-1?arch=amd64&distro=ubuntu-22.04&upstream=source%402.0',
      publisher: everything.maintainer,
      description: everything.description,
      licenses: [{ expression: everything.license }],
      externalReferences: [{ type: 'website', url: everything.url }],
      hashes: expect.arrayContaining([{ alg: 'SHA-256', content: sha256 }]),
      properties: expect.arrayContaining([{ name: 'gatehouse:source_package', value: 'source' }]),
    })
    expect(bom.metadata).toMatchObject({
      timestamp: ARRIVAL.toISOString(),
      tools: { components: [{ name: 'Gatehouse', version: '1.2.3' }] },
      component: { type: 'file', name: 'full_1.0-1_amd64.deb' },
    })
    expect(bom.serialNumber).toMatch(/^urn:uuid:[0-9a-f-]{14}5[0-9a-f-]{21}$/)
  })

  test('SPDX', async () => {
    const { sha256 } = await insert(everything)
    const bom = await documents.ofPackage('spdx', 'full')
    expect(bom).toMatchObject({
      name: 'full-1.0-1-amd64',
      creationInfo: { created: '2026-03-01T12:00:00Z', creators: ['Tool: Gatehouse-1.2.3'] },
    })
    expect(bom.packages).toMatchObject([
      {
        name: 'full',
        versionInfo: '1.0-1',
        supplier: 'Organization: A Team (team@example.org)',
        licenseDeclared: everything.license,
        homepage: everything.url,
        sourceInfo: 'built from the source package source 2.0',
        checksums: expect.arrayContaining([{ algorithm: 'SHA256', checksumValue: sha256 }]),
        externalRefs: [{ referenceType: 'purl', referenceLocator: expect.stringMatching(/^pkg:deb\/ubuntu\/full@/) }],
      },
    ])
    expect(bom.relationships).toEqual([
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: bom.packages[0].SPDXID },
    ])
  })

  test.each([
    ['MIT', { license: { id: 'MIT' } }, 'MIT'],
    ['MIT OR BSD-2-Clause', { expression: 'MIT OR BSD-2-Clause' }, 'MIT OR BSD-2-Clause'],
    [
      'GPLv2+ and others',
      { license: { name: 'GPLv2+ and others' } },
      expect.stringMatching(/^LicenseRef-[0-9a-f]{16}$/),
    ],
  ])('with the license %s', async (license, cyclonedx, spdx) => {
    await insert({ name: 'licensed', license })
    expect(componentOf(await documents.ofPackage('cyclonedx', 'licensed'), 'licensed').licenses).toEqual([cyclonedx])
    const bom = await documents.ofPackage('spdx', 'licensed')
    const [{ licenseDeclared }] = bom.packages
    expect(licenseDeclared).toEqual(spdx)
    expect(bom.hasExtractedLicensingInfos).toEqual(
      licenseDeclared.startsWith('LicenseRef-')
        ? [{ licenseId: licenseDeclared, extractedText: license, name: license }]
        : [],
    )
  })

  test('a license that is not in the SPDX list is listed once for all packages', async () => {
    for (const name of ['a', 'b', 'c']) await insert({ name, license: 'GPLv3+' })
    expect((await documents.ofRepository('spdx')).hasExtractedLicensingInfos).toHaveLength(1)
  })

  test.each([
    [
      'text that needs escaping',
      { description: '"}],\u2028\n\\', maintainer: '\t(odd) <a@b> (c)', license: '"', url: 'javascript:alert(1)' },
    ],
    ['an invalid address', { url: 'https://exa mple.org/', maintainer: '<>' }],
    ['an address with special characters', { url: "https://example.org/%zz[]{}|^`<>'" }],
    ['an address with brackets and two fragments', { url: 'http://example.org/a[1]#b#c' }],
    ['a maintainer without a name', { maintainer: '<a@example.org>' }],
    ['a maintainer without an address', { maintainer: 'Only A Name' }],
    ['a name with special characters', { name: 'ä+b~c/..#?%', version: '1:2~3^4+5-6' }],
  ])('%s makes a valid document', async (_, odd) => {
    const row = await insert({ name: 'odd', ...odd })
    for (const format of ['cyclonedx', 'spdx'] as const) {
      const bom = await documents.ofPackage(format, row.name, row.version)
      if (format === 'cyclonedx')
        expect(bom.components[0]).toMatchObject({
          name: row.name,
          version: row.version,
          ...('description' in odd ? { description: odd.description } : {}),
        })
      await documents.ofRepository(format)
    }
    const document = await documents.make().ofPackage({ name: row.name, version: row.version }, 'spdx')
    expect(document.filename).toMatch(/^[A-Za-z0-9._+~-]+$/)
  })
})

describe('dependencies', () => {
  test('lead to the newest record that satisfies each requirement; missing ones are named', async () => {
    await insert({ name: 'engine', version: '1.0-1' })
    await insert({ name: 'engine', version: '2.0-1' })
    await insert({ name: 'engine', version: '10.0-1' })
    await insert({ name: 'held', version: '9', status: 'pending_review' })
    await insert({ name: 'elsewhere', distribution: 'noble' })
    await insert({ name: 'virtual-b', provides: [{ name: 'virtual' }] })
    await insert({ name: 'virtual-a', provides: [{ name: 'virtual' }] })
    const either = {
      kind: 'depends',
      strong: true,
      anyOf: [{ name: 'absent' }, { name: 'virtual' }],
      text: 'absent | virtual',
    }
    await insert({
      name: 'car',
      provides: [{ name: 'own-words', version: '1' }],
      files: ['usr/bin/own'],
      requirements: [
        need('engine', '>=', '2'),
        need('held'),
        need('elsewhere', '>=', '1'),
        either,
        need('own-words'),
        need('car'),
        need('/usr/bin/own'),
        need('weak', undefined, undefined, false),
        need('libc.so.6()(64bit)'),
        need('rpmlib(X)'),
      ],
    })
    const bom = await documents.ofPackage('cyclonedx', 'car')
    expect(namesIn(bom)).toEqual(['car', 'engine', 'virtual-a', 'elsewhere', 'held', 'libc.so.6()(64bit)'])
    expect(componentOf(bom, 'engine').version).toBe('10.0-1')
    expect(dependsOn(bom, 'car')).toEqual(
      bom.components
        .slice(1)
        .map((component: any) => component['bom-ref'])
        .sort(),
    )
    expect(componentOf(bom, 'elsewhere')).toMatchObject({
      purl: 'pkg:deb/ubuntu/elsewhere?distro=ubuntu-22.04',
      properties: [{ value: 'elsewhere (>= 1)' }, { name: 'gatehouse:offered', value: 'false' }],
    })
    expect(componentOf(bom, 'libc.so.6()(64bit)').purl).toBeUndefined()
    const spdx = await documents.ofPackage('spdx', 'car')
    expect(spdx.relationships.filter((each: any) => each.relationshipType === 'DEPENDS_ON')).toHaveLength(5)
    expect(spdx.packages.map((each: any) => each.name)).toEqual(namesIn(bom))

    const all = await documents.ofRepository('cyclonedx')
    expect(namesIn(all)).toEqual(['car', 'engine', 'engine', 'engine', 'virtual-a', 'virtual-b', 'elsewhere'])
    expect(dependsOn(all, 'car')).toEqual(['jammy/engine/10.0-1/amd64', 'jammy/virtual-a/1.0-1/amd64'])
    expect(namesIn(await documents.ofRepository('cyclonedx', 'noble'))).toEqual(['elsewhere'])
  })

  test('of a held package are listed too', async () => {
    await insert({ name: 'base' })
    await insert({
      name: 'waiting',
      status: 'pending_review',
      provides: [{ name: 'itself' }],
      requirements: [need('base'), need('itself')],
    })
    expect(namesIn(await documents.ofPackage('cyclonedx', 'waiting'))).toEqual(['waiting', 'base'])
  })
})

describe('the selected record', () => {
  test('is the newest published one that matches the selector', async () => {
    await insert({ name: 'many', importedAt: new Date('2026-01-01') })
    await insert({ name: 'many', distribution: 'noble', importedAt: new Date('2026-01-03') })
    await insert({ name: 'many', distribution: 'focal', status: 'quarantined', importedAt: new Date('2026-01-05') })
    await insert({ name: 'many', arch: 'all', importedAt: new Date('2026-01-02') })
    const ref = async (more: object) =>
      (await documents.ofPackage('cyclonedx', 'many', '1.0-1', more)).components[0]['bom-ref']
    expect(await ref({})).toBe('noble/many/1.0-1/amd64')
    expect(await ref({ distribution: 'focal' })).toBe('focal/many/1.0-1/amd64')
    expect(await ref({ distribution: 'jammy' })).toBe('jammy/many/1.0-1/all')
    expect(await ref({ distribution: 'jammy', arch: 'amd64' })).toBe('jammy/many/1.0-1/amd64')
  })

  test('must exist, and so must the distribution', async () => {
    await insert({ name: 'known' })
    for (const selector of [
      { name: 'unknown', version: '1.0-1' },
      { name: 'known', version: '1' },
      { name: 'known', version: '1.0-1', arch: 'all' },
    ]) {
      await expect(documents.make().ofPackage(selector, 'spdx')).rejects.toMatchObject({ code: 'not_found' })
      await expect(documents.make().sarifOfPackage(selector)).rejects.toMatchObject({ code: 'not_found' })
    }
    for (const ask of [
      documents.make().ofRepository('warty', 'spdx'),
      documents.make().preview('warty', 'spdx'),
      documents.make().sarifOfRepository('warty'),
      documents.make().openvex('warty'),
    ]) {
      await expect(ask).rejects.toMatchObject({ code: 'unknown_distribution' })
    }
  })
})
