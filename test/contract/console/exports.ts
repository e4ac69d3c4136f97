// Lists as files: what the filters of the list show is what the file has.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'

export function exportContract(gate: Gate): void {
  const read = async (path: string, query: string, as: string) => {
    const reply = await gate.call('GET', `${path}/export?${query}${query && '&'}as=${as}`)
    expect(reply.status, reply.text).toBe(200)
    return reply
  }

  test.each([
    ['/security/vulnerabilities', '', 'items'],
    ['/security/vulnerabilities', 'severity=high,critical', 'items'],
    ['/security/vulnerabilities', 'q=lib-held&kev=true', 'items'],
    ['/security/vulnerabilities', 'q=nothing-here', 'items'],
    ['/security/decisions', '', 'decisions'],
    ['/security/decisions', 'active=true&package=lib-held', 'decisions'],
  ])('%s?%s', async (path, query, key) => {
    const { body } = await gate.call<Record<string, Record<string, unknown>[]>>('GET', `${path}?${query}&per_page=200`)
    const listed = body[key] ?? []
    const json = await read(path, query, 'jsonl')
    expect(json.headers['content-type']).toBe('application/x-ndjson')
    const lines = json.text.split('\n').slice(0, -1)
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(listed)
    const csv = await read(path, query, 'csv')
    expect([csv.headers['content-type'], csv.headers['content-disposition']]).toEqual([
      'text/csv; charset=utf-8',
      expect.stringContaining('.csv"'),
    ])
    const [head, ...rows] = csv.text.split('\r\n').slice(0, -1)
    expect(head?.split(',').slice(0, 2)).toEqual(key === 'items' ? ['id', 'severity'] : ['id', 'package'])
    expect(rows.map((row) => row.split(',')[0])).toEqual(listed.map(({ id }) => String(id)))
  })

  test.each(['/security/vulnerabilities/export?severity=banana', '/security/decisions/export?as=xlsx'])(
    '%s is refused',
    async (path) => {
      const { status, body } = await gate.call('GET', path)
      expect([status, body['code']]).toEqual([400, 'validation_error'])
    },
  )
}
