// /sbom over HTTP: documents, file names and media types for packages uploaded here.
import { beforeAll, expect, test } from 'vitest'
import { buildDeb } from '../../samples/deb.ts'
import { createStandards, danglingIn } from '../../schemas/schemas.ts'
import type { Gate } from '../harness.ts'

export function sbomContract(gate: Gate): void {
  const problemsOf = createStandards()
  beforeAll(async () => {
    await gate.upload(await buildDeb({ name: 'bill-base' }), { distribution: 'focal' })
    await gate.upload(
      await buildDeb({
        name: 'bill',
        version: '1:2.0+b1-1',
        fields: { Depends: 'bill-base (>= 1), libc6', Source: 'bills', License: 'MIT' },
      }),
      { distribution: 'focal' },
    )
    await gate.upload(await buildDeb({ name: 'bill', version: '1:2.0+b1-1', arch: 'all' }), { distribution: 'noble' })
  })
  const BILL = '/sbom/bill/1%3A2.0%2Bb1-1'

  test.each([
    [`${BILL}?distribution=focal`, 'cyclonedx', 'application/vnd.cyclonedx+json', 'bill_1-2.0+b1-1_amd64.cdx.json'],
    [
      `${BILL}/?arch=amd64&format=cyclonedx`,
      'cyclonedx',
      'application/vnd.cyclonedx+json',
      'bill_1-2.0+b1-1_amd64.cdx.json',
    ],
    [`${BILL}?distribution=focal&format=spdx`, 'spdx', 'application/spdx+json', 'bill_1-2.0+b1-1_amd64.spdx.json'],
    [`${BILL}/sarif`, 'sarif', 'application/sarif+json', 'bill_1-2.0+b1-1_all.sarif'],
    ['/sbom/export', 'cyclonedx', 'application/vnd.cyclonedx+json', 'gatehouse-all.cdx.json'],
    ['/sbom/export?distribution=focal&format=spdx', 'spdx', 'application/spdx+json', 'gatehouse-focal.spdx.json'],
    [
      '/sbom/export?distribution=alpine3.20',
      'cyclonedx',
      'application/vnd.cyclonedx+json',
      'gatehouse-alpine3.20.cdx.json',
    ],
    ['/sbom/sarif?distribution=focal', 'sarif', 'application/sarif+json', 'gatehouse-focal.sarif'],
    ['/sbom/openvex', 'openvex', 'application/json', 'gatehouse-all.openvex.json'],
  ] as const)('%s is a valid attachment', async (path, standard, type, filename) => {
    const reply = await gate.call('GET', path, { as: gate.people.auditor.token })
    expect(
      [reply.status, reply.headers['content-type'], reply.headers['content-disposition']],
      reply.text.slice(0, 300),
    ).toEqual([200, expect.stringContaining(type), `attachment; filename="${filename}"`])
    expect(problemsOf(standard, reply.body)).toEqual([])
    if (standard !== 'openvex') expect(danglingIn(standard, reply.body)).toEqual([])
    expect((await gate.call('GET', path)).text).toBe(reply.text)
  })

  test('the document of a package contains its dependencies', async () => {
    const { body } = await gate.call<any>('GET', `${BILL}?distribution=focal`)
    expect(body.components).toMatchObject([
      {
        name: 'bill',
        purl: 'pkg:deb/ubuntu/bill@1:2.0%2Bb1-1?arch=amd64&distro=ubuntu-20.04&upstream=bills',
        licenses: [{ license: { id: 'MIT' } }],
      },
      { name: 'bill-base', purl: 'pkg:deb/ubuntu/bill-base@1.0-1?arch=amd64&distro=ubuntu-20.04' },
      { name: 'libc6', purl: 'pkg:deb/ubuntu/libc6?distro=ubuntu-20.04' },
    ])
  })

  test('a preview shows the counts', async () => {
    const { body } = await gate.call<any>('GET', '/sbom/preview?distribution=focal&format=spdx')
    expect(Object.keys(body)).toEqual(['total_packages', 'format', 'preview'])
    expect([
      body.format,
      body.total_packages >= body.preview.packages.length,
      problemsOf('spdx', body.preview),
    ]).toEqual(['spdx', true, []])
  })

  test.each([
    [`${BILL}?format=xml`, 400, 'validation_error'],
    ['/sbom/export?format=', 400, 'validation_error'],
    ['/sbom/export?format=SPDX', 400, 'validation_error'],
    ['/sbom/export?distribution=warty', 400, 'unknown_distribution'],
    ['/sbom/openvex?distribution=warty', 400, 'unknown_distribution'],
    ['/sbom/bill/2.0', 404, 'not_found'],
    [`${BILL}?distribution=jammy`, 404, 'not_found'],
    [`${BILL}/sarif?arch=riscv64`, 404, 'not_found'],
    ['/sbom/nobody/1', 404, 'not_found'],
    ['/sbom/bill', 404, 'not_found'],
  ])('%s is %i %s', async (path, status, code) => {
    const reply = await gate.call('GET', path)
    expect([reply.status, reply.body['code'], reply.headers['content-type']]).toEqual([
      status,
      code,
      expect.stringContaining('application/json'),
    ])
    expect(reply.headers['content-disposition']).toBeUndefined()
  })
}
