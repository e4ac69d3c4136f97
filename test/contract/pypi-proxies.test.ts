// Proxies of Python indexes: what clients get of an upstream, what its lies lead to, and names that are never asked for.
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startSimpleIndex, type IndexedFile, type SimpleIndex } from '../fakes/simple-index.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { buildSdist, buildWheel, type SampleWheel } from '../samples/python.ts'
import { startGate, type CallOptions, type Gate } from './harness.ts'
import { form } from './http.ts'

const JSON_MEDIA = 'application/vnd.pypi.simple.v1+json'
const DAY_MS = 86_400_000

let gate: Gate
let upstream: SimpleIndex
let advisories: string
let names = 0
const fresh = () => `lib${++names}`
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
const ago = (days: number) => new Date(gate.clock.now().getTime() - days * DAY_MS).toISOString()
const later = (minutes: number) => gate.clock.advance(minutes * 60_000)
/** sessions end with the clock of the tests */
const as = (method: string, path: string, options: CallOptions = {}) =>
  gate.call(method, path, { as: gate.people.admin.token, ...options })
const make = (name: string, more: object = {}) =>
  as('POST', '/registries', {
    body: { format: 'pypi', name, kind: 'proxy', upstream: { url: upstream.url }, ...more },
  })

interface Listed {
  filename: string
  yanked: boolean | string
  hashes: { sha256: string }
  [field: string]: unknown
}
const list = async (project: string, repo = 'proxy') => {
  const { status, body } = await as('GET', `/pypi/${repo}/simple/${project}/`, { headers: { accept: JSON_MEDIA } })
  return { status, files: status === 200 ? (body['files'] as Listed[]) : [] }
}
/** the versions of wheels that clients take by themselves */
const offered = async (project: string, repo?: string) =>
  (await list(project, repo)).files
    .filter(({ yanked }) => yanked === false)
    .map(({ filename }) => filename.split('-')[1])
const fetchFile = (project: string, filename: string, repo = 'proxy') =>
  as('GET', `/pypi/${repo}/files/${project}/${filename}`)
const wheelName = (project: string, version = '1.0') => `${project.replace(/[-.]/g, '_')}-${version}-py3-none-any.whl`
const wheel = (name: string, version = '1.0', more: SampleWheel & Partial<IndexedFile> = {}): IndexedFile => {
  const { uploaded = ago(100), listed, metadata: lines, ...sample } = more as SampleWheel & IndexedFile
  return {
    filename: wheelName(name, version),
    bytes: buildWheel({ name, version, ...sample, ...(lines ? { metadata: lines as unknown as string[] } : {}) }),
    uploaded,
    ...(listed ? { listed } : {}),
  }
}

beforeAll(async () => {
  advisories = await mkdtemp(join(tmpdir(), 'pypi-advisories-'))
  const one = { ecosystem: 'PyPI', fixed: null }
  await writeAdvisories(advisories, [{ ...one, id: 'MAL-2026-77', package: 'mal-lib', introduced: '1.1' }])
  upstream = await startSimpleIndex()
  gate = await startGate({ env: { SVC_OSV_DIR: advisories } })
  expect((await as('POST', '/security/vulnscan/update')).text).toMatch(/updated|up_to_date/)
  for (const [name, more] of [
    ['proxy', {}],
    ['ageless', { curation: { min_age_days: 0 } }],
    ['quiet', { curation: { explain_holds: false } }],
    ['strict', { curation: { deny_licenses: ['GPL-3.0-only'], install_scripts: 'hold_new', provenance: 'require' } }],
  ] as const)
    expect((await make(name, more)).status).toBe(201)
  const own = { format: 'pypi', name: 'team', kind: 'hosted' }
  expect((await as('POST', '/registries', { body: own })).status).toBe(201)
  const group = { format: 'pypi', name: 'both', kind: 'group', members: ['team', 'proxy'] }
  expect((await as('POST', '/registries', { body: group })).status).toBe(201)
})
afterAll(async () => {
  expect(gate.errors).toEqual([])
  await gate?.close()
  await upstream?.close()
  await rm(advisories, { recursive: true, force: true })
})

describe('what an upstream has', () => {
  test.each([
    ['JSON', true],
    ['a page', false],
  ])('as %s is listed, fetched once and kept as a record', async (_, isJson) => {
    const name = `Plain.${fresh()}`
    const project = name.toLowerCase().replace('.', '-')
    const python = { metadata: ['Requires-Python: >=3.8, !=3.9.0'], listed: { 'requires-python': '!=3.9.0,>=3.8' } }
    const one = wheel(name, '1.0', python as never)
    upstream.put(project, [one, wheel(name, '1.1', { listed: { yanked: 'loses <data>' } })])
    upstream.forms.json = isJson
    const { files } = await list(project)
    upstream.forms.json = true
    expect(files).toMatchObject([
      {
        filename: wheelName(project),
        hashes: { sha256: sha256(one.bytes) },
        yanked: false,
        'requires-python': '!=3.9.0,>=3.8',
      },
      { filename: wheelName(project, '1.1'), yanked: 'loses <data>' },
    ])
    expect(files[0]!['upload-time']).toBe(isJson ? one.uploaded : undefined)
    const before = upstream.asked.length
    for (let i = 0; i < 2; i++) {
      const { status, headers } = await fetchFile(project, wheelName(project))
      expect([status, headers['content-length']]).toEqual([200, String(one.bytes.length)])
    }
    expect(upstream.asked.length - before).toBe(1)
    expect((await as('GET', `/artifacts/?distribution=pypi%2Fproxy&q=${project}`)).text).toContain(
      `"name":"${project}"`,
    )
    // Now it is read from its own record.
    expect((await list(project)).files[0]).toMatchObject({
      yanked: false,
      'core-metadata': { sha256: expect.any(String) },
    })
    expect((await as('GET', '/pypi/proxy/simple/', { headers: { accept: JSON_MEDIA } })).text).toContain(`"${project}"`)
  })

  test('is asked for by its normalized name', async () => {
    const name = fresh()
    upstream.put(name, [wheel(name)])
    const { status, headers } = await as('GET', `/pypi/proxy/simple/${name.toUpperCase()}/`)
    expect([status, headers['location']]).toEqual([301, `../${name}/`])
    expect(upstream.asked).toContain(`simple/${name}/`)
  })

  test('is fetched from where its list leads in the end', async () => {
    const name = fresh()
    const { bytes, filename } = wheel(name)
    const files = [{ filename, url: `here/${filename}`, hashes: { sha256: sha256(bytes) } }]
    upstream.lie(`simple/${name}/`, (_, response) => response.writeHead(302, { location: `/other/${name}/` }).end())
    upstream.lie(`other/${name}/`, (_, response) => response.end(JSON.stringify({ name, files })))
    upstream.lie(`other/${name}/here/${filename}`, (_, response) => response.end(bytes))
    expect(await offered(name)).toEqual(['1.0'])
    expect((await fetchFile(name, filename)).status).toBe(200)
  })

  test('has the metadata of a wheel beside it, which is checked, and fetches no wheel', async () => {
    const name = fresh()
    const metadata = `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n\n`
    const { bytes } = wheel(name)
    upstream.put(name, [
      { filename: wheelName(name), bytes, uploaded: ago(100), metadata },
      { filename: wheelName(name, '1.1'), bytes, uploaded: ago(100), metadata },
    ])
    upstream.lie(`files/${wheelName(name, '1.1')}.metadata`, (_, response) => response.end('other'))
    const [first] = (await list(name)).files
    expect(first!['core-metadata']).toEqual({ sha256: sha256(metadata) })
    const before = upstream.asked.length
    for (let i = 0; i < 2; i++) expect((await fetchFile(name, `${wheelName(name)}.metadata`)).text).toBe(metadata)
    expect(upstream.asked.slice(before)).toEqual([`files/${wheelName(name)}.metadata`])
    expect((await fetchFile(name, `${wheelName(name, '1.1')}.metadata`)).status).toBe(502)
  })

  test('is asked for again after five minutes, and kept for a week while it does not answer', async () => {
    const name = fresh()
    upstream.put(name, [wheel(name)])
    await list(name)
    upstream.put(name, [wheel(name), wheel(name, '1.1')])
    expect(await offered(name)).toEqual(['1.0'])
    later(6)
    expect(await offered(name)).toEqual(['1.0', '1.1'])
    upstream.lie(`simple/${name}/`, (_, response) => response.writeHead(503).end())
    later(6 * 24 * 60)
    expect(await offered(name)).toEqual(['1.0', '1.1'])
    later(2 * 24 * 60)
    expect((await list(name)).status).toBe(502)
  })

  test('and has no more is still given where it is here', async () => {
    const name = fresh()
    upstream.put(name, [wheel(name), wheel(name, '1.1')])
    await list(name)
    await fetchFile(name, wheelName(name))
    upstream.remove(name)
    later(6)
    expect(await offered(name)).toEqual(['1.0'])
    expect((await fetchFile(name, wheelName(name))).status).toBe(200)
  })

  test('is asked for once by 200 clients at a time, list and file', async () => {
    const name = fresh()
    upstream.put(name, [wheel(name)])
    let release = () => {}
    upstream.holdUntil(new Promise((resolve) => (release = resolve)))
    const before = upstream.asked.length
    const lists = Promise.all(Array.from({ length: 200 }, () => list(name)))
    release()
    expect(new Set((await lists).map(({ status }) => status))).toEqual(new Set([200]))
    const files = await Promise.all(Array.from({ length: 200 }, () => fetchFile(name, wheelName(name))))
    expect(new Set(files.map(({ status }) => status))).toEqual(new Set([200]))
    expect(upstream.asked.length - before).toBe(2)
  })
})

describe('rules', () => {
  test('a young version is held as a whole, yanked with its reason, until it is old enough', async () => {
    const name = fresh()
    const sdist = { filename: `${name}-1.1.tar.gz`, bytes: buildSdist({ name, version: '1.1' }), uploaded: ago(1) }
    upstream.put(name, [wheel(name), wheel(name, '1.1', { uploaded: ago(1) }), sdist])
    const { files } = await list(name)
    const reason = expect.stringContaining('held: it is younger than 7 days')
    expect(files.map(({ yanked }) => yanked)).toEqual([false, reason, reason])
    for (const file of [wheelName(name, '1.1'), `${wheelName(name, '1.1')}.metadata`, sdist.filename]) {
      const held = await fetchFile(name, file)
      expect([held.status, held.text]).toEqual([403, expect.stringContaining('it is younger than 7 days')])
    }
    expect(await offered(name, 'ageless')).toEqual(['1.0', '1.1', '1.1.tar.gz'])
    later(6 * 24 * 60 + 10)
    expect((await fetchFile(name, sdist.filename)).status).toBe(200)
    expect((await list(name)).files.map(({ yanked }) => yanked)).toEqual([false, false, false])
  })

  test('a file that comes days after its version is judged alone, and takes nothing from clients', async () => {
    const name = fresh()
    const added = wheel(name, '1.0', { tags: ['py2-none-any'], uploaded: ago(1) })
    upstream.put(name, [wheel(name), { ...added, filename: `${name}-1.0-py2-none-any.whl` }])
    const { files } = await list(name)
    expect(files.map(({ filename, yanked }) => [filename, yanked])).toEqual([
      [`${name}-1.0-py2-none-any.whl`, expect.stringContaining('younger')],
      [wheelName(name), false],
    ])
  })

  test('a version without provenance, or with source only after wheels, is held where that is asked for', async () => {
    const name = fresh()
    const provenance = { listed: { provenance: 'https://upstream.test/p' } }
    upstream.put(name, [
      wheel(name, '1.0', provenance),
      wheel(name, '1.1'),
      { filename: `${name}-1.2.tar.gz`, bytes: buildSdist({ name, version: '1.2' }), uploaded: ago(90), ...provenance },
    ])
    const reasons = async () => (await list(name, 'strict')).files.map(({ yanked }) => yanked)
    const scripts = 'held: it runs scripts at installation, and 1.1 did not'
    expect(await reasons()).toEqual([false, 'held: it has no provenance', scripts])
    const body = { name, version: '1.1' }
    expect((await as('POST', '/registries/pypi/strict/requests', { body })).status).toBe(200)
    // The reason stays when the file is here.
    expect(await reasons()).toEqual([false, expect.stringMatching(/^held: it has no provenance; .*review$/), scripts])
  })

  test('a licence that only the file states is held once the file is here', async () => {
    const name = fresh()
    const gpl = { metadata: ['License-Expression: GPL-3.0-only'], listed: { provenance: 'https://upstream.test/p' } }
    upstream.put(name, [wheel(name, '1.0', gpl as never)])
    expect(await offered(name, 'strict')).toEqual(['1.0'])
    expect((await fetchFile(name, wheelName(name), 'strict')).status).toBe(403)
    expect(await offered(name, 'strict')).toEqual([])
    const { body } = await as('GET', `/security/packages/${name}/1.0/evidence?distribution=pypi%2Fstrict`)
    expect(JSON.stringify(body)).toContain('its licence is GPL-3.0-only, which is denied here')
  })

  test('holds without an explanation are in no list', async () => {
    const name = fresh()
    upstream.put(name, [wheel(name), wheel(name, '1.1', { uploaded: ago(1) })])
    expect((await list(name, 'quiet')).files.map(({ filename }) => filename)).toEqual([wheelName(name)])
    expect((await fetchFile(name, wheelName(name, '1.1'), 'quiet')).status).toBe(403)
  })

  test('a malicious version is in no list, cannot be had, and cannot be asked for', async () => {
    upstream.put('mal-lib', [wheel('mal-lib'), wheel('mal-lib', '1.1')])
    expect((await list('mal-lib')).files.map(({ filename }) => filename)).toEqual([wheelName('mal-lib')])
    expect((await fetchFile('mal-lib', wheelName('mal-lib', '1.1'))).status).toBe(403)
    const body = { name: 'mal-lib', version: '1.1' }
    expect((await as('POST', '/registries/pypi/proxy/requests', { body })).status).toBe(409)
    expect(upstream.asked).not.toContain(`files/${wheelName('mal-lib', '1.1')}`)
  })

  test('a held version that is asked for waits for a review with all its files, and is given once it is approved', async () => {
    const name = fresh()
    const sdist = { filename: `${name}-1.0.tar.gz`, bytes: buildSdist({ name, version: '1.0' }), uploaded: ago(1) }
    upstream.put(name, [wheel(name, '1.0', { uploaded: ago(1) }), sdist])
    await list(name)
    await fetchFile(name, wheelName(name))
    const withheld = async () => (await as('GET', '/registries/pypi/proxy/withheld')).body['items'] as object[]
    expect(await withheld()).toContainEqual(expect.objectContaining({ name, asked: 1, status: null }))
    const asked = await as('POST', '/registries/pypi/proxy/requests', { body: { name, version: '1.0' } })
    expect([asked.status, asked.body['files']], asked.text).toEqual([200, [wheelName(name), sdist.filename]])
    expect(await withheld()).toContainEqual(expect.objectContaining({ name, asked: 2, status: 'pending_review' }))
    expect((await fetchFile(name, wheelName(name))).status).toBe(403)
    for (const arch of ['py3-none-any', 'sdist']) {
      const where = `?distribution=pypi%2Fproxy&arch=${arch}`
      const body = { action: 'accept_risk', justification: 'looked at it' }
      const decided = await as('POST', `/security/packages/${name}/1.0/decide${where}`, { body })
      expect(decided.status, decided.text).toBeLessThan(300)
    }
    expect((await list(name)).files.map(({ yanked }) => yanked)).toEqual([false, false])
    expect((await fetchFile(name, wheelName(name))).status).toBe(200)
  })
})

describe('an upstream that lies', () => {
  const alerts = async (name: string) => {
    const { body } = await as('GET', '/artifacts/audit/logs?action=INTEGRITY_ALERT&per_page=100')
    return (body['items'] as { package: string }[]).filter((one) => one.package === name).length
  }

  test.each<[string, (name: string) => void, number]>([
    [
      'with another digest',
      (name) => upstream.put(name, [wheel(name, '1.0', { listed: { hashes: { sha256: '1'.repeat(64) } } })]),
      1,
    ],
    ['with another project', (name) => upstream.put(name, [{ ...wheel('other'), filename: wheelName(name) }]), 1],
    ['with another version', (name) => upstream.put(name, [{ ...wheel(name, '2.0'), filename: wheelName(name) }]), 1],
    [
      'with other tags',
      (name) => upstream.put(name, [{ ...wheel(name, '1.0', { tags: ['py2-none-any'] }), filename: wheelName(name) }]),
      1,
    ],
    [
      'with a file that is no package',
      (name) => upstream.put(name, [{ ...wheel(name), bytes: Buffer.from('PK\x03\x04') }]),
      0,
    ],
    [
      'with half of a file',
      (name) => {
        upstream.put(name, [wheel(name)])
        upstream.lie(`files/${wheelName(name)}`, (_, response) => {
          response.writeHead(200, { 'content-length': '1000' }).write('half')
          response.destroy()
        })
      },
      0,
    ],
    [
      'with a redirect into the network',
      (name) => {
        upstream.put(name, [wheel(name)])
        upstream.lie(`files/${wheelName(name)}`, (_, response) =>
          response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
        )
      },
      0,
    ],
  ])('%s gives nothing, and nothing is stored', async (_, prepare, alarms) => {
    const name = fresh()
    prepare(name)
    expect((await list(name)).status).toBe(200)
    expect([502, 400]).toContain((await fetchFile(name, wheelName(name))).status)
    expect(await alerts(name)).toBe(alarms)
    expect((await as('GET', `/artifacts/?q=${name}`)).text).not.toContain(`"name":"${name}"`)
  })

  test.each<[string, string | ((name: string) => string), number]>([
    ['with text that is neither JSON nor a page', 'hello', 502],
    ['with a page without links', '<html><body>sign in</body></html>', 502],
    ['with deep JSON', `{"files":[${'['.repeat(100_000)}`, 502],
    ['with half of a list', '{"meta":{"api-version":"1.0"},"files":[', 502],
    ['with another project', '{"name":"other","files":[]}', 502],
    ['with another interface', '{"meta":{"api-version":"2.0"},"files":[]}', 502],
    ['with a page of open quotes', `<a href="${'<a href="'.repeat(50_000)}`, 502],
  ])('%s is an upstream error', async (_, text, status) => {
    const name = fresh()
    upstream.lie(`simple/${name}/`, (_request, response) => response.end(text))
    expect((await list(name)).status).toBe(status)
  })

  test('with hostile files shows the others', async () => {
    const name = fresh()
    const good = wheel(name)
    upstream.put(name, [
      good,
      ...[
        { filename: '../../x-1.0-py3-none-any.whl' },
        { filename: 'other-1.0-py3-none-any.whl' },
        { filename: `${name}-1.0-py3-none-<b>.whl` },
        { filename: `${name}-1.0.exe` },
        { filename: wheelName(name, '2.0'), url: 'file:///etc/passwd' },
        { filename: wheelName(name, '3.0'), hashes: { md5: '0'.repeat(32) } },
        { filename: wheelName(name, '4.0'), hashes: null },
        { filename: wheelName(name, '5.0'), 'requires-python': 'a\nb' },
        { filename: 7 },
      ].map((listed) => ({ ...good, listed })),
    ])
    expect((await list(name)).files.map(({ filename }) => filename)).toEqual([wheelName(name)])
  })

  test.each<[string, Record<string, unknown>]>([
    ['the versions of Python', { 'requires-python': '>=2' }],
    ['the core metadata', { 'core-metadata': { sha256: '2'.repeat(64) } }],
  ])('about %s has the file held for a review', async (what, listed) => {
    const name = fresh()
    upstream.put(name, [wheel(name, '1.0', { metadata: ['Requires-Python: >=3'], listed } as never)])
    await list(name)
    const { status } = await fetchFile(name, wheelName(name))
    expect(status).toBe(403)
    const { body } = await as('GET', `/security/packages/${name}/1.0/evidence?distribution=pypi%2Fproxy`)
    expect(JSON.stringify(body)).toContain(`the upstream lists something else than the file has: ${what}`)
    expect(await offered(name)).toEqual([])
  })

  test('with new bytes for a file that is here changes nothing for clients', async () => {
    const name = fresh()
    upstream.put(name, [wheel(name)])
    const before = (await list(name)).files[0]!.hashes
    await fetchFile(name, wheelName(name))
    upstream.put(name, [wheel(name, '1.0', { description: 'other' })])
    later(6)
    expect((await list(name)).files[0]!.hashes).toEqual(before)
  })
})

describe('names that belong to repositories here', () => {
  test('a hosted name never comes from an upstream, in any repository and spelling', async () => {
    const name = `own-${fresh()}`
    upstream.put(name, [wheel(name, '99.0')])
    const said = { ':action': 'file_upload', name, version: '1.0', filetype: 'bdist_wheel' }
    const { body, headers } = form([
      ...Object.entries(said).map(([field, value]) => ({ name: field, value })),
      { name: 'content', value: buildWheel({ name, version: '1.0' }), filename: wheelName(name) },
    ])
    expect((await as('POST', '/pypi/team/legacy/', { body, headers })).status).toBe(200)
    const before = upstream.asked.length
    expect(await offered(name, 'both')).toEqual(['1.0'])
    expect((await fetchFile(name, wheelName(name, '99.0'), 'both')).status).toBe(404)
    for (const spelled of [name, name.replace('-', '_').toUpperCase()]) expect((await list(spelled)).status).toBe(404)
    expect((await fetchFile(name, wheelName(name, '99.0'))).status).toBe(404)
    expect(upstream.asked.length).toBe(before)
  })

  test('a claim in any spelling is asked for nowhere, also what was fetched before', async () => {
    const project = 'claimed-lib'
    upstream.put(project, [wheel(project)])
    expect((await list(project)).status).toBe(200)
    expect((await fetchFile(project, wheelName(project))).status).toBe(200)
    const made = await as('POST', '/registries/pypi/team/claims', { body: { pattern: 'Claimed_*' } })
    expect([made.status, made.body['pattern']]).toEqual([201, 'claimed-*'])
    const before = upstream.asked.length
    for (const repo of ['proxy', 'both']) {
      expect((await list(project, repo)).status).toBe(404)
      expect((await fetchFile(project, wheelName(project), repo)).status).toBe(404)
    }
    expect(upstream.asked.length).toBe(before)
    expect((await as('DELETE', '/registries/pypi/team/claims?pattern=claimed.*')).status).toBe(200)
    expect((await list(project)).status).toBe(200)
  })

  test('a group gives what its hosted members do not have from its proxy', async () => {
    const name = fresh()
    upstream.put(name, [wheel(name)])
    expect(await offered(name, 'both')).toEqual(['1.0'])
    expect((await fetchFile(name, wheelName(name), 'both')).status).toBe(200)
  })
})
