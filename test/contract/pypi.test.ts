// Repositories of Python packages over HTTP: publishing, the Simple API, files, and what held files give away.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildSdist, buildWheel, type SampleWheel } from '../samples/python.ts'
import { startGate, type Gate } from './harness.ts'
import { form, send, type Reply } from './http.ts'

const JSON_MEDIA = 'application/vnd.pypi.simple.v1+json'
const digest = (algorithm: string, bytes: Uint8Array) => createHash(algorithm).update(bytes).digest('hex')
const basic = (token: string, user = '__token__') => ({
  authorization: `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`,
})

let gate: Gate
beforeAll(async () => {
  gate = await startGate()
  for (const [name, kind, more] of [
    ['team', 'hosted', {}],
    ['open', 'hosted', { public: true }],
    ['other', 'hosted', {}],
    ['all', 'group', { members: ['team', 'open'], public: true }],
  ] as const) {
    const made = await gate.call('POST', '/registries', { body: { format: 'pypi', name, kind, ...more } })
    expect(made.status, made.text).toBe(201)
  }
})
afterAll(async () => {
  await gate?.close()
  expect(gate.errors).toEqual([])
})

interface Sending {
  as?: string
  repo?: string
  filename?: string
  fields?: Record<string, string>
}

const filenameOf = ({ name = 'acme-tool', version = '1.4.2', tags = ['py3-none-any'] }: SampleWheel) =>
  `${name.replace(/[-.]/g, '_')}-${version}-${tags[0]}.whl`

function publish(bytes: Uint8Array, sample: SampleWheel, sending: Sending = {}): Promise<Reply> {
  const { as = gate.people.uploader.token, repo = 'team', filename = filenameOf(sample), fields = {} } = sending
  const { name = 'acme-tool', version = '1.4.2' } = sample
  const said = {
    ...{ ':action': 'file_upload', protocol_version: '1', name, version, filetype: 'bdist_wheel' },
    ...{ sha256_digest: digest('sha256', bytes), md5_digest: digest('md5', bytes), ...fields },
  }
  const { body, headers } = form([
    ...Object.entries(said).map(([field, value]) => ({ name: field, value })),
    { name: 'content', value: bytes, filename },
  ])
  return gate.call('POST', `/pypi/${repo}/legacy/`, { as: null, body, headers: { ...headers, ...basic(as) } })
}
const publishWheel = (sample: SampleWheel, sending: Sending = {}) => publish(buildWheel(sample), sample, sending)

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  gate.call(method, `/pypi/${path}`, { as: null, headers: { ...basic(gate.people.reader.token), ...headers } })
const project = async (repo: string, name: string) =>
  (await get(`${repo}/simple/${name}/`, { accept: JSON_MEDIA })).body as {
    versions: string[]
    files: Record<string, any>[]
  }

describe('publishing', () => {
  test('a wheel is listed, and fetched whole and in part', async () => {
    const sample = { name: 'Listed.Lib', metadata: ['Requires-Python: >=3.9'] }
    const bytes = buildWheel(sample)
    const published = await publish(bytes, sample)
    expect([published.status, published.headers['x-package-status']], published.text).toEqual([200, 'published'])
    const { versions, files } = await project('team', 'listed-lib')
    expect([versions, files]).toMatchObject([
      ['1.4.2'],
      [
        {
          ...{ filename: 'listed_lib-1.4.2-py3-none-any.whl', size: bytes.length, yanked: false },
          ...{ hashes: { sha256: digest('sha256', bytes) }, 'requires-python': '>=3.9', provenance: null },
          url: '../../files/listed-lib/listed_lib-1.4.2-py3-none-any.whl',
          'upload-time': expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}(?:\.\d+)?Z$/),
        },
      ],
    ])
    const address = 'team/files/listed-lib/listed_lib-1.4.2-py3-none-any.whl'
    const whole = await get(address)
    expect([whole.status, whole.headers['content-length']]).toEqual([200, String(bytes.length)])
    const part = await get(address, { range: 'bytes=0-3' })
    expect([part.status, part.text]).toEqual([206, 'PK\x03\x04'])
    const head = await get(address, {}, 'HEAD')
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, String(bytes.length), ''])
    expect((await get(address, { 'if-none-match': String(whole.headers['etag']) })).status).toBe(304)
    const metadata = await get(`${address}.metadata`)
    expect(digest('sha256', Buffer.from(metadata.text))).toBe(files[0]!['core-metadata'].sha256)
    expect(metadata.text).toContain('Name: Listed.Lib')
    expect((await get(`${address}.provenance`)).status).toBe(404)
  })

  test('a source distribution beside the wheel of its version', async () => {
    const sample = { name: 'both' }
    expect((await publishWheel(sample)).status).toBe(200)
    const bytes = buildSdist(sample)
    const sent = await publish(bytes, sample, { filename: 'both-1.4.2.tar.gz', fields: { filetype: 'sdist' } })
    expect(sent.status, sent.text).toBe(200)
    expect((await project('team', 'both')).files.map(({ filename }) => filename)).toEqual([
      'both-1.4.2-py3-none-any.whl',
      'both-1.4.2.tar.gz',
    ])
    expect((await get('team/files/both/both-1.4.2.tar.gz.metadata')).status).toBe(404)
  })

  test('the same bytes again change nothing, and other bytes are refused', async () => {
    const sample = { name: 'again' }
    for (let time = 0; time < 2; time++) expect((await publishWheel(sample)).status).toBe(200)
    const other = await publishWheel({ ...sample, description: 'other bytes' })
    expect([other.status, other.text]).toEqual([409, expect.stringContaining('with other bytes')])
    expect((await publishWheel({ ...sample, version: '1.4.2.0' })).text).toContain('is the version 1.4.2')
    expect((await project('team', 'again')).versions).toEqual(['1.4.2'])
  })

  test('a deleted version comes back with the same bytes only', async () => {
    const sample = { name: 'spent' }
    expect((await publishWheel(sample)).status).toBe(200)
    const deleted = await gate.call('DELETE', '/artifacts/spent/1.4.2?distribution=pypi%2Fteam')
    expect(deleted.status, deleted.text).toBe(200)
    expect((await get('team/simple/spent/')).status).toBe(404)
    expect((await publishWheel({ ...sample, description: 'other' })).status).toBe(409)
    expect((await publishWheel(sample)).status).toBe(200)
  })

  test.each<[string, SampleWheel, Sending, number, RegExp]>([
    ['a file name of another project', {}, { filename: 'other-1.4.2-py3-none-any.whl' }, 400, /content says otherwise/],
    ['a file name of another version', {}, { filename: 'acme_tool-9-py3-none-any.whl' }, 400, /content says otherwise/],
    ['a file name of other tags', {}, { filename: 'acme_tool-1.4.2-py2-none-any.whl' }, 400, /content says otherwise/],
    ['a path as its name', {}, { filename: '../../acme_tool-1.4.2.exe' }, 400, /content says otherwise/],
    ['another name in the form', {}, { fields: { name: 'other' } }, 400, /the form says other/],
    ['another version in the form', {}, { fields: { version: '9' } }, 400, /the form says acme-tool 9/],
    ['another type in the form', {}, { fields: { filetype: 'sdist' } }, 400, /the form says sdist/],
    ['another action', {}, { fields: { ':action': 'doc_upload' } }, 400, /file_upload/],
    ['another SHA-256', {}, { fields: { sha256_digest: '0'.repeat(64) } }, 400, /SHA-256/],
    ['another MD5', {}, { fields: { md5_digest: '0'.repeat(32) } }, 400, /MD5/],
    ['attestations that are none', {}, { fields: { attestations: '[{}]' } }, 400, /attestations/],
    ['a damaged wheel', { replace: { RECORD: null } }, {}, 400, /no file .*RECORD/],
    ['a group as its target', {}, { repo: 'all' }, 409, /is a group/],
    ['an unknown target', {}, { repo: 'nowhere' }, 404, /no repository/],
  ])('with %s is refused', async (_, sample, sending, status, sentence) => {
    const reply = await publishWheel(sample, sending)
    expect([reply.status, reply.text]).toEqual([status, expect.stringMatching(sentence)])
    expect((await get('team/simple/acme-tool/')).status).toBe(404)
  })
})

describe('rights', () => {
  const scoped = async (name: string, scopes: object, role = 'uploader') =>
    String((await gate.call('POST', '/auth/api-tokens', { body: { name, role, scopes } })).body['token'])

  test('no credential, a wrong one, and a role that may not publish', async () => {
    const { body, headers } = form([{ name: ':action', value: 'file_upload' }])
    for (const [given, status] of [
      [{}, 401],
      [basic('gh_wrong'), 401],
      [basic(gate.people.reader.token), 403],
    ] as const) {
      const reply = await gate.call('POST', '/pypi/team/legacy/', { as: null, body, headers: { ...headers, ...given } })
      expect(reply.status).toBe(status)
      if (status === 401) expect(reply.headers['www-authenticate']).toBe('Basic realm="Gatehouse"')
    }
  })

  test('a token may be limited to repositories, names and actions', async () => {
    const team = await scoped('pypi-team', { distributions: ['pypi/team'] })
    const names = await scoped('pypi-names', { distributions: ['pypi/team'], names: ['acme-*'] })
    const reading = await scoped('pypi-reading', { actions: ['read'] })
    for (const [name, repo, as, status] of [
      ['scoped-a', 'team', team, 200],
      ['scoped-a', 'other', team, 403],
      ['acme-scoped', 'team', names, 200],
      ['Acme.Scoped2', 'team', names, 200],
      ['scoped-b', 'team', names, 403],
      ['scoped-c', 'team', reading, 403],
    ] as const) {
      const reply = await publishWheel({ name }, { repo, as })
      expect([name, repo, reply.status], reply.text).toEqual([name, repo, status])
    }
    // The file decides, whatever the form says about it.
    const sample = { name: 'scoped-d' }
    expect((await publish(buildWheel(sample), sample, { as: names, fields: { name: 'acme-x' } })).status).toBe(403)
  })

  test('private repositories answer like unknown ones, a token without the action `read` reads none', async () => {
    await publishWheel({ name: 'private-lib' })
    const uploads = await scoped('pypi-uploads', { actions: ['upload'] })
    for (const path of ['simple/', 'simple/private-lib/', 'files/private-lib/private_lib-1.4.2-py3-none-any.whl']) {
      const replies = await Promise.all(
        ['team', 'nowhere'].map((repo) => gate.call('GET', `/pypi/${repo}/${path}`, { as: null })),
      )
      expect(replies.map(({ status, text }) => [status, text])).toEqual([
        [401, '401 a credential is needed\n'],
        [401, '401 a credential is needed\n'],
      ])
      expect((await get(`team/${path}`, basic(uploads))).status).toBe(403)
      expect((await get(`team/${path}`, basic(gate.people.reader.token, 'any name'))).status).toBe(200)
    }
    expect((await publishWheel({ name: 'only-uploads' }, { as: uploads })).status).toBe(200)
  })

  test('a public group shows its private members to those only who may read them', async () => {
    await publishWheel({ name: 'in-private' })
    await publishWheel({ name: 'in-open' }, { repo: 'open' })
    const list = async (headers: Record<string, string>) =>
      (await gate.call('GET', '/pypi/all/simple/', { as: null, headers: { accept: JSON_MEDIA, ...headers } })).text
    expect(await list({})).toContain('in-open')
    expect(await list({})).not.toContain('in-private')
    expect(await list(basic(gate.people.reader.token))).toContain('in-private')
    for (const path of ['simple/in-private/', 'files/in-private/in_private-1.4.2-py3-none-any.whl']) {
      expect((await gate.call('GET', `/pypi/all/${path}`, { as: null })).status).toBe(401)
      expect((await get(`all/${path}`)).status).toBe(200)
    }
    expect((await gate.call('GET', '/pypi/all/simple/in-open/', { as: null })).status).toBe(200)
  })
})

describe('reading', () => {
  beforeAll(async () => {
    await publishWheel({ name: 'Read.Me' }, { repo: 'open' })
  })

  test.each([
    ['open/simple/Read.Me/', '../read-me/'],
    ['open/simple/read--me/', '../read-me/'],
    ['open/simple/read-me', 'read-me/'],
    ['open/simple/READ_me', 'read-me/'],
    ['open/simple', 'simple/'],
  ])('%s leads to %s', async (path, location) => {
    const reply = await get(path)
    expect([reply.status, reply.headers['location']]).toEqual([301, location])
  })

  test.each([
    [undefined, 'text/html; charset=utf-8'],
    ['application/vnd.pypi.simple.v1+html', 'application/vnd.pypi.simple.v1+html'],
    [`${JSON_MEDIA}, text/html;q=0.01`, JSON_MEDIA],
    ['application/xml', null],
  ])('with Accept %j as %j', async (accept, media) => {
    for (const path of ['open/simple/', 'open/simple/read-me/']) {
      const reply = await get(path, accept === undefined ? {} : { accept })
      if (media === null) expect([reply.status, reply.text]).toEqual([406, expect.stringContaining(JSON_MEDIA)])
      else
        expect([reply.status, reply.headers['content-type'], reply.text]).toEqual([
          200,
          media,
          expect.stringMatching(/read-me/),
        ])
      expect(reply.headers['vary'] ?? '').toMatch(media === null ? /./ : /Accept\b/)
    }
  })

  test('no header of a request is in a document', async () => {
    const poison = {
      host: 'evil.test',
      'x-forwarded-host': 'evil.test',
      'x-forwarded-prefix': '/evil',
      accept: JSON_MEDIA,
    }
    await get('open/simple/read-me/', poison)
    for (const headers of [poison, { accept: JSON_MEDIA }, { accept: '*/*' }])
      expect((await get('open/simple/read-me/?x=evil.test', headers)).text).not.toContain('evil')
  })

  test('is answered 304 while nothing changed, and in gzip where accepted', async () => {
    const first = await get('open/simple/read-me/')
    const etag = String(first.headers['etag'])
    expect((await get('open/simple/read-me/', { 'if-none-match': etag })).status).toBe(304)
    expect((await get('open/simple/read-me/', { 'accept-encoding': 'gzip' })).headers['content-encoding']).toBe('gzip')
    await publishWheel({ name: 'Read.Me', version: '2.0' }, { repo: 'open' })
    expect((await get('open/simple/read-me/', { 'if-none-match': etag })).status).toBe(200)
  })

  test.each([
    'open/simple/nothing-there/',
    'open/simple/-/',
    'open/simple/__proto__/',
    'open/files/read-me/constructor',
    'open/files/read-me/read_me-9-py3-none-any.whl',
    'open/files/other/read_me-1.4.2-py3-none-any.whl',
    'open/files/read-me/..%2fread_me-1.4.2-py3-none-any.whl',
    'open/files/read-me/READ_ME-1.4.2-py3-none-any.whl',
    'open/files/read-me/read_me-1.4.2-py3-none-any.whl.asc',
  ])('%s is not there', async (path) => expect((await get(path)).status).toBe(404))
})

test('a yanked version is listed with its reason until that is taken back', async () => {
  await publishWheel({ name: 'yanked' })
  const yank = (yanked: string | null, as = gate.people.maintainer.token, version = '1.4.2') =>
    gate.call('PATCH', `/registries/pypi/team/packages/yanked/${version}`, { as, body: { yanked } })
  expect((await yank('loses data')).status).toBe(200)
  expect((await project('team', 'yanked')).files[0]!['yanked']).toBe('loses data')
  expect((await get('team/simple/yanked/')).text).toContain('data-yanked="loses data"')
  expect((await get('team/files/yanked/yanked-1.4.2-py3-none-any.whl')).status).toBe(200)
  expect((await yank(null)).status).toBe(200)
  expect((await project('team', 'yanked')).files[0]!['yanked']).toBe(false)
  expect((await yank('x', gate.people.uploader.token)).status).toBe(403)
  expect((await yank('x', gate.people.maintainer.token, '9')).status).toBe(404)
})

describe('a held version', () => {
  const file = 'held_lib-1.4.2-py3-none-any.whl'
  const addresses = (repo: string) =>
    ['', '.metadata', '.provenance'].map((part) => `${repo}/files/held-lib/${file}${part}`)
  const decide = (decision: string) =>
    gate.call('POST', '/security/packages/held-lib/1.4.2/decide?distribution=pypi%2Fteam', {
      body: { decision, justification: 'because' },
    })

  beforeAll(async () => {
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'hold' } } })
    const reply = await publishWheel({ name: 'held-lib' })
    expect([reply.status, reply.headers['x-package-status']], reply.text).toEqual([200, 'pending_review'])
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'allow' } } })
  })

  const noByte = async (reason: RegExp) => {
    for (const path of [...addresses('team'), ...addresses('all')])
      for (const [method, headers] of [
        ['GET', {}],
        ['HEAD', {}],
        ['GET', { range: 'bytes=0-3' }],
        ['GET', { 'if-none-match': '"x"', 'if-range': '"x"', range: 'bytes=0-' }],
      ] as const) {
        const reply = await get(path, headers, method)
        expect([path, method, reply.status]).toEqual([path, method, 403])
        if (method === 'GET') expect(reply.text).toMatch(reason)
      }
    for (const other of ['HELD_LIB', '%68eld_lib', '%2568eld_lib', 'held_lib%00', '.%2fheld_lib'])
      expect([400, 403, 404]).toContain((await get(`team/files/held-lib/${file.replace('held_lib', other)}`)).status)
  }

  test('is listed as yanked with the reason, and no byte of it is given', async () => {
    const { versions, files } = await project('team', 'held-lib')
    expect([versions, files[0]!['yanked']]).toEqual([['1.4.2'], expect.stringMatching(/^held: it waits/)])
    await noByte(/is held: it waits/)
    const reply = await send(gate.port, {
      ...{ method: 'GET', path: `/pypi/team/files/held-lib/${file}` },
      headers: basic(gate.people.reader.token),
    })
    expect(reply.status).toBe(403)
  })

  test('is listed nowhere once it is rejected, and published again only as what it is', async () => {
    expect((await decide('reject')).status).toBe(200)
    expect((await get('team/simple/held-lib/')).status).toBe(404)
    expect((await get('team/simple/', { accept: JSON_MEDIA })).text).not.toContain('held-lib')
    await noByte(/was rejected/)
    expect((await publishWheel({ name: 'held-lib' })).status).toBe(403)
  })

  test('is listed no more once it is deleted', async () => {
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'hold' } } })
    await publishWheel({ name: 'gone-lib' })
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'allow' } } })
    expect((await project('team', 'gone-lib')).versions).toEqual(['1.4.2'])
    await gate.call('DELETE', '/artifacts/gone-lib/1.4.2?distribution=pypi%2Fteam')
    expect((await get('team/simple/gone-lib/')).status).toBe(404)
  })

  test('is served once it is approved', async () => {
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'hold' } } })
    await publishWheel({ name: 'later-lib' })
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'allow' } } })
    const address = 'team/files/later-lib/later_lib-1.4.2-py3-none-any.whl'
    expect((await get(address)).status).toBe(403)
    const approved = await gate.call('POST', '/security/packages/later-lib/1.4.2/decide?distribution=pypi%2Fteam', {
      body: { decision: 'approve', justification: 'looked at it' },
    })
    expect(approved.status, approved.text).toBe(200)
    expect((await get(address)).status).toBe(200)
    expect((await project('team', 'later-lib')).files[0]!['yanked']).toBe(false)
  })

  test('is approved with all its files, which a dry run lists, and all are taken back together', async () => {
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'hold' } } })
    for (const tag of ['py3-none-any', 'py2-none-any']) await publishWheel({ name: 'many-lib', tags: [tag] })
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'allow' } } })
    const held = async () => (await project('team', 'many-lib')).files.map(({ yanked }) => yanked !== false)
    expect(await held()).toEqual([true, true])
    const sha256 = (await project('team', 'many-lib')).files[0]!['hashes'].sha256 as string
    const item = { package: 'many-lib', version: '1.4.2', distribution: 'pypi/team', sha256 }
    const decision = { decision: 'approve', justification: 'looked at one of them' }
    const preview = await gate.call('POST', '/security/decisions/bulk', {
      body: { ...decision, items: [item], dry_run: true },
    })
    expect(preview.body['items']).toMatchObject([
      { result: 'decided', records: [{ effect: 'offers' }, { effect: 'offers' }], decisions: [] },
    ])
    const path = '/security/packages/many-lib/1.4.2/decide'
    const approved = await gate.call('POST', path, { body: { ...decision, sha256, distribution: 'pypi/team' } })
    expect(approved.status, approved.text).toBe(200)
    expect(await held()).toEqual([false, false])
    const ids = (approved.body['decisions'] as { id: number }[]).map(({ id }) => id)
    expect((await gate.call('POST', '/security/decisions/undo', { body: { ids } })).body).toMatchObject({ undone: 2 })
    expect(await held()).toEqual([true, true])
  })
})
