// /artifacts/audit: filters, pages, export, and the unbroken hash chain.
import { expect, test } from 'vitest'
import { chainHash, GENESIS, type AuditEntry } from '../../../src/audit/chain.ts'
import { PASSWORD, type Gate } from '../harness.ts'

const KEYS = [
  'timestamp',
  'action',
  'result',
  'user',
  'package',
  'version',
  'distribution',
  'arch',
  'detail',
  'outcome',
  'ip',
  'request_id',
  'prev_hash',
  'hash',
  'extra',
  'seq',
  'mac',
]

interface Page {
  items: AuditEntry[]
  total: number
  page: number
  per_page: number
  pages: number
}

export function auditContract(gate: Gate): void {
  const auditor = gate.people.auditor.token
  const logs = async (query = '') =>
    (await gate.call<Page>('GET', `/artifacts/audit/logs?${query}`, { as: auditor })).body

  test('entries come newest first, with every key', async () => {
    const { items, ...page } = await logs()
    expect(page).toMatchObject({ page: 1, per_page: 100 })
    expect(page.pages).toBe(Math.ceil(page.total / 100))
    for (const entry of items) expect(Object.keys(entry).sort()).toEqual([...KEYS].sort())
    const times = items.map((entry) => entry.timestamp)
    expect(times).toEqual([...times].sort().reverse())
    expect((await logs('per_page=500')).items.length).toBe(Math.min(500, page.total))
    expect((await logs('page=100000')).items).toEqual([])
    expect((await gate.call('GET', '/artifacts/audit/logs?per_page=501', { as: auditor })).status).toBe(400)
  })

  test.each([
    ['action=UPLOAD', (entry: AuditEntry) => entry.action === 'UPLOAD'],
    ['action=upload&result=failure', (entry: AuditEntry) => entry.action === 'UPLOAD' && entry.result === 'FAILURE'],
    ['result=Warning', (entry: AuditEntry) => entry.result === 'WARNING'],
    ['user=token:uploader-robot', (entry: AuditEntry) => entry.user === 'token:uploader-robot'],
    ['package=hello', (entry: AuditEntry) => entry.package === 'hello'],
    [
      'package=shelf-a&version=1.0~rc1-1',
      (entry: AuditEntry) => entry.package === 'shelf-a' && entry.version === '1.0~rc1-1',
    ],
    ['q=SHELF-', (entry: AuditEntry) => entry.package?.startsWith('shelf-') === true],
    ['q=uploader-ROBOT', (entry: AuditEntry) => /uploader-robot/i.test(`${entry.user} ${entry.detail}`)],
    ['q=created%20as%20auditor', (entry: AuditEntry) => entry.detail?.includes('created as auditor') === true],
  ])('?%s finds exactly the matching entries', async (query, fits) => {
    const everything = (await logs('per_page=500')).items
    const { items, total } = await logs(`${query}&per_page=500`)
    expect(items.length).toBeGreaterThan(0)
    expect(items).toEqual(everything.filter(fits))
    expect(total).toBe(items.length)
  })

  test.each(['action=NONE', 'user=nobody', 'q=%25', 'package=hell', 'version=1', 'from=2999-01-01', 'to=1999-01-01'])(
    '?%s finds nothing',
    async (query) => {
      expect(await logs(query)).toMatchObject({ items: [], total: 0, pages: 0 })
    },
  )

  test('from and to limit the time; a date means the whole day', async () => {
    const { total } = await logs()
    const now = gate.clock.now()
    const day = now.toISOString().slice(0, 10)
    expect((await logs(`to=${encodeURIComponent(new Date(now.getTime() - 86_400_000).toISOString())}`)).total).toBe(0)
    expect((await logs(`from=${day}&to=${day}`)).total).toBeGreaterThan(0)
    const cut = (await logs('per_page=500')).items.find((entry) => entry.package === 'shelf-b')?.timestamp ?? ''
    const [older, newer] = await Promise.all([
      logs(`to=${encodeURIComponent(cut)}`),
      logs(`from=${encodeURIComponent(cut)}`),
    ])
    expect(older.total + newer.total).toBeGreaterThan(total)
    // First a time copied from an entry without escaping; then one without an offset, which means UTC.
    expect((await logs(`from=${cut}`)).total).toBe(newer.total)
    expect((await logs(`from=${cut.slice(0, -6)}`)).total).toBe(newer.total)
    for (const query of [
      'from=yesterday',
      'result=maybe',
      'result=',
      'to=2026-13-01',
      'from=',
      'from=1',
      'from=March%207',
      'to=2026-01-01T25:00',
    ]) {
      const reply = await gate.call('GET', `/artifacts/audit/logs?${query}`, { as: auditor })
      expect([query, reply.status, reply.body]).toMatchObject([
        query,
        400,
        { code: 'validation_error', errors: [{ field: query.split('=')[0] }] },
      ])
    }
  })

  test('failed and successful logins are audited with the user name that was sent', async () => {
    await gate.call('POST', '/auth/token', { as: null, body: { username: 'no-such-user', password: PASSWORD } })
    expect((await logs('action=LOGIN&result=FAILURE')).items[0]).toMatchObject({
      user: 'no-such-user',
      outcome: 'unauthorized',
      ip: '127.0.0.1',
    })
    await gate.login('reader-person')
    expect((await logs('action=LOGIN')).items[0]).toMatchObject({ user: 'reader-person', result: 'SUCCESS' })
  })

  test('no entry contains a password or a token', async () => {
    const reply = await gate.call('GET', '/artifacts/audit/export', { as: auditor })
    expect(reply.text).not.toContain(PASSWORD)
    for (const { token, session } of Object.values(gate.people))
      for (const secret of [token, session]) expect(reply.text).not.toContain(secret)
  })

  test('the export contains every entry in the order of an unbroken chain', async () => {
    const { total } = await logs()
    const reply = await gate.call('GET', '/artifacts/audit/export', { as: auditor })
    expect([reply.status, reply.headers['content-type'], reply.headers['content-disposition']]).toEqual([
      200,
      'application/x-ndjson',
      expect.stringMatching(/^attachment/),
    ])
    const lines = reply.text.split('\n')
    expect(lines.pop()).toBe('')
    const entries = lines.map((line) => JSON.parse(line) as AuditEntry)
    expect(entries).toHaveLength(total)
    let before = GENESIS
    for (const entry of entries) {
      expect(entry.prev_hash).toBe(before)
      expect(chainHash({ ...entry, hash: null })).toBe(entry.hash)
      before = entry.hash ?? ''
    }
    expect((await gate.call('GET', '/artifacts/audit/export?from=2999-01-01', { as: auditor })).text).toBe('')
    expect((await gate.call('GET', '/artifacts/audit/export?to=nonsense', { as: auditor })).status).toBe(400)
  })

  test.each(['user=reader-person', 'action=login&result=success', 'q=READER-per', 'package=none'])(
    'with %s the export has what the list has, as JSON lines and as CSV',
    async (filter) => {
      const listed = await logs(`${filter}&per_page=500`)
      const read = async (as: string) =>
        (await gate.call('GET', `/artifacts/audit/export?${filter}&as=${as}`, { as: auditor })).text
      const lines = (await read('jsonl')).split('\n').slice(0, -1)
      const rows = (await read('csv')).split('\r\n').slice(0, -1)
      expect(lines.map((line) => (JSON.parse(line) as AuditEntry).seq)).toEqual(
        listed.items.map(({ seq }) => seq).reverse(),
      )
      expect(rows[0]).toBe(
        'seq,timestamp,action,result,outcome,user,package,version,distribution,arch,detail,ip,request_id',
      )
      expect(rows.slice(1).map((row) => Number(row.split(',')[0]))).toEqual(
        listed.items.map(({ seq }) => seq).reverse(),
      )
    },
  )

  test('a filter that the list refuses, the export refuses too', async () => {
    const refused = await gate.call('GET', '/artifacts/audit/export?result=perhaps', { as: auditor })
    expect([refused.status, refused.body['code']]).toEqual([400, 'validation_error'])
  })
}
