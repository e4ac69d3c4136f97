// GET /packages/ and /artifacts/: lists, filters, pages, and all records of one name.
import { beforeAll, expect, test } from 'vitest'
import { buildDeb } from '../../samples/deb.ts'
import type { Gate } from '../harness.ts'

/** See the decisions, section 4. */
const HEAD = ['name', 'version', 'arch', 'distribution', 'status', 'cve_status', 'served', 'imported_at', 'imported_by']
const RECORD = [
  ...HEAD,
  'architecture',
  'format',
  'type',
  'manifest_status',
  'held_reason',
  'sha256',
  'filename',
  'section',
  'description',
  'maintainer',
  'license',
  'url',
  'source_package',
  'size_bytes',
  'installed_size_kb',
  'source',
  'integrity',
  'dependencies',
  'deps_missing',
  'tags',
  'validation_steps',
  'coverage',
  'cve_summary',
  'cve_results',
  'decision',
  'sla',
  'last_scan',
  'quarantined_at',
  'quarantined_by',
]
const ITEM = [
  ...HEAD,
  'latest_version',
  'versions',
  'distributions',
  'format',
  'sha256',
  'size_bytes',
  'deps_missing',
  'description',
  'section',
  'cve_summary',
]
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/

interface Page {
  items: Record<string, unknown>[]
  total: number
  page: number
  per_page: number
  pages: number
}

export function artifactContract(gate: Gate): void {
  const list = async (query: string) => (await gate.call<Page>('GET', `/artifacts/?${query}`)).body
  const names = async (query: string) => (await list(query)).items.map((item) => item['name'])

  beforeAll(async () => {
    const uploads: [string, object, string][] = [
      ['shelf-a', { version: '1.0-1' }, 'jammy'],
      ['shelf-a', { version: '1.0~rc1-1' }, 'jammy'],
      ['shelf-a', { version: '1.0-1' }, 'noble'],
      [
        'shelf-b',
        {
          version: '2.0-1',
          arch: 'all',
          fields: { Description: 'Something MARVELLOUS\n More of it.', Section: 'net' },
        },
        'noble',
      ],
      ['shelf-c', { version: '10-1', fields: { Depends: 'nowhere-to-be-had' } }, 'focal'],
      ['shelf-c', { version: '9-1' }, 'focal'],
    ]
    for (const [name, sample, distribution] of uploads) {
      gate.clock.advance(1000)
      const { status, text } = await gate.upload(await buildDeb({ name, ...sample }), { distribution })
      if (status !== 201) throw new Error(text)
    }
  })

  test('the list has one item for each name: its latest record with all versions and distributions', async () => {
    const { items, ...envelope } = await list('search=shelf-')
    expect(envelope).toEqual({ total: 3, page: 1, per_page: 50, pages: 1 })
    for (const item of items) expect(Object.keys(item)).toEqual(expect.arrayContaining(ITEM))
    expect(items).toMatchObject([
      {
        name: 'shelf-a',
        version: '1.0-1',
        latest_version: '1.0-1',
        versions: ['1.0-1', '1.0~rc1-1'],
        format: 'deb',
        status: 'published',
        served: true,
      },
      {
        name: 'shelf-b',
        arch: 'all',
        distribution: 'noble',
        distributions: ['noble'],
        description: 'Something MARVELLOUS',
        section: 'net',
      },
      { name: 'shelf-c', latest_version: '10-1', versions: ['10-1', '9-1'], deps_missing: ['nowhere-to-be-had'] },
    ])
    expect([...(items[0]?.['distributions'] as string[])].sort()).toEqual(['jammy', 'noble'])
    for (const item of items) expect(item['imported_at']).toMatch(TIME)
  })

  test.each([
    ['search=SHELF-A', ['shelf-a']],
    ['search=marvellous', ['shelf-b']],
    ['search=shelf-%25', []],
    ['search=shelf-_', []],
    ["search=shelf-'", []],
    ['search=shelf-&distribution=noble', ['shelf-a', 'shelf-b']],
    ['search=shelf-&distribution=bookworm', []],
    ['search=shelf-&distribution=warty', []],
    ['search=shelf-&arch=all', ['shelf-b']],
    ['search=shelf-&arch=amd64', ['shelf-a', 'shelf-c']],
    ['search=shelf-&status=published', ['shelf-a', 'shelf-b', 'shelf-c']],
    ['search=shelf-&status=quarantined', []],
    ['search=shelf-&format=deb', ['shelf-a', 'shelf-b', 'shelf-c']],
    ['search=shelf-&format=rpm', []],
    ['search=shelf-&sort=-name', ['shelf-c', 'shelf-b', 'shelf-a']],
    ['search=shelf-&sort=imported_at&per_page=1', ['shelf-a']],
    ['search=shelf-&per_page=2', ['shelf-a', 'shelf-b']],
    ['search=shelf-&per_page=2&page=2', ['shelf-c']],
    ['search=shelf-&per_page=2&page=3', []],
    ['search=shelf-&page=10000000&per_page=200', []],
    ['search=shelf-&nonsense=1', ['shelf-a', 'shelf-b', 'shelf-c']],
  ])('?%s finds %j', async (query, found) => {
    expect(await names(query)).toEqual(found)
  })

  test.each(['name', '-name', 'imported_at', '-imported_at'])(
    'pages sorted by %s contain every item once',
    async (sort) => {
      const whole: unknown[] = await names(`per_page=200&sort=${sort}`)
      expect(whole.length).toBeGreaterThan(2)
      const paged: unknown[] = []
      for (let page = 1; paged.length < whole.length; page++)
        paged.push(...(await names(`per_page=1&page=${page}&sort=${sort}`)))
      expect(paged).toEqual(whole)
      expect(await names(`per_page=200&sort=${sort.startsWith('-') ? sort.slice(1) : `-${sort}`}`)).toEqual(
        [...whole].reverse(),
      )
    },
  )

  test('a page past the end is empty and has the total', async () => {
    expect(await list('search=shelf-&per_page=2&page=9')).toEqual({
      items: [],
      total: 3,
      page: 9,
      per_page: 2,
      pages: 2,
    })
    expect(await list('search=there-is-no-such-thing')).toEqual({
      items: [],
      total: 0,
      page: 1,
      per_page: 50,
      pages: 0,
    })
  })

  test('a name answers every record, the checks of the latest one, and its history', async () => {
    const { body } = await gate.call<
      Record<string, unknown> & { versions: Record<string, unknown>[]; history: Record<string, unknown>[] }
    >('GET', '/artifacts/shelf-c')
    expect(Object.keys(body)).toEqual([
      'name',
      'info',
      'versions',
      'versions_total',
      'formats',
      'distributions',
      'history',
      'validation_steps',
      'cve_results',
      'manifest_status',
      'cve_status',
      'decision',
      'dependencies',
      'blast_radius',
    ])
    expect(body).toMatchObject({
      name: 'shelf-c',
      manifest_status: 'published',
      cve_status: 'approved',
      decision: null,
      dependencies: [{ name: 'nowhere-to-be-had', version_constraint: '' }],
      info: { latest: '10-1', section: 'misc', description: 'a sample package' },
      versions: [{ version: '10-1' }, { version: '9-1' }],
    })
    expect(Object.keys((body['info'] as { versions: object }).versions).sort()).toEqual(['10-1', '9-1'])
    for (const record of body.versions) {
      expect(Object.keys(record)).toEqual(expect.arrayContaining(RECORD))
      expect(record['source']).toEqual({
        imported_by: 'admin-person',
        imported_at: record['imported_at'],
        import_method: 'upload',
        import_group: null,
        source_id: null,
        promoted_from: null,
      })
      expect(record['integrity']).toEqual({
        sha256: record['sha256'],
        sha512: expect.stringMatching(/^[0-9a-f]{128}$/),
        gpg_signed: true,
        received_sha256: record['sha256'],
      })
      expect(record['coverage']).toHaveProperty('antivirus')
    }
    expect(body.history).toMatchObject([
      { action: 'UPLOAD', version: '9-1', user: 'admin-person', ip: '127.0.0.1' },
      { action: 'UPLOAD', version: '10-1' },
    ])
  })

  test.each(['reader', 'uploader', 'auditor', 'maintainer'] as const)(
    'a %s sees users and addresses in the history only with access to the audit log',
    async (role) => {
      const { body } = await gate.call<{ history: object[] }>('GET', '/artifacts/shelf-b', {
        as: gate.people[role].session,
      })
      const hidden = role === 'reader' || role === 'uploader'
      expect(body.history).toMatchObject([
        { action: 'UPLOAD', user: hidden ? null : 'admin-person', ip: hidden ? null : '127.0.0.1' },
      ])
    },
  )

  test('an unknown name answers 404', async () => {
    expect(await gate.call('GET', '/artifacts/shelf')).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await gate.call('GET', '/artifacts/shelf-a?format=rpm')).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
  })

  test('/packages/ lists the sorted file names of served packages', async () => {
    const { body } = await gate.call<{ packages: string[]; total: number }>('GET', '/packages/')
    expect(body.packages).toEqual(
      expect.arrayContaining(['shelf-a_1.0-1_amd64.deb', 'shelf-b_2.0-1_all.deb', 'shelf-c_9-1_amd64.deb']),
    )
    expect(body.packages).toEqual([...body.packages].sort())
    expect(body.total).toBe(body.packages.length)
    expect(new Set(body.packages).size).toBe(body.total)
  })
}
