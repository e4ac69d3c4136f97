// The page of an advisory: who has it, where it is fixed, and what was decided.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'
import { bringIn } from './samples.ts'

interface Details {
  id: string
  stands_for: string[]
  items: {
    name: string
    version: string
    distribution: string
    served: boolean
    fixed_here: string | null
    accepted_by_decision: boolean
  }[]
  total: number
  decisions: { package: string; justification: string }[] | null
}

const detailsOf =
  (gate: Gate) =>
  async (id: string, query = '', as?: string) => {
    const reply = await gate.call<Details & Record<string, unknown>>('GET', `/security/advisories/${id}${query}`, {
      ...(as && { as }),
    })
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }

export function advisoryContract(gate: Gate): void {
  const details = detailsOf(gate)

  test('it has what it is, those that have it with offered ones first, and the decisions', async () => {
    const body = await details('cve-2026-1001')
    expect(body).toMatchObject({
      ...{ id: 'CVE-2026-1001', stands_for: ['CVE-2026-1001'], severity: 'Critical', in_kev: false, epss: 0.02 },
      ...{ description: 'About CVE-2026-1001.', total: 2, served_total: 1, fixed_total: 2, accepted_total: 1 },
      decisions: [{ package: 'lib-held', justification: 'not reachable in our build' }],
    })
    expect(body.items).toMatchObject([
      { name: 'lib-held', version: '1.0-1', served: true, accepted_by_decision: true, fix_versions: ['1.2-1'] },
      { name: 'lib-held', version: '1.1-1', served: false, accepted_by_decision: false },
    ])
    expect((await details('CVE-2026-1001', '?per_page=1&page=2')).items.map(({ version }) => version)).toEqual([
      '1.1-1',
    ])
  })

  test('one that only waits is no fix', async () => {
    // 1.1 waits for a decision, so it fixes nothing for clients.
    expect((await details('CVE-2025-0001')).items).toMatchObject([{ version: '1.0-1', fixed_here: null }])
    expect((await details('CVE-2026-1002')).items).toMatchObject([{ version: '1.1-1', fixed_here: null }])
  })

  test('an id of which nothing is known has no packages, and says how many were looked at', async () => {
    const body = await details('CVE-1999-0001')
    expect(body).toMatchObject({ total: 0, items: [], severity: null, decisions: [] })
    expect(body['packages_scanned']).toBeGreaterThan(3)
  })

  test('readers see no decisions', async () => {
    expect((await details('CVE-2026-1001', '', gate.people.reader.session)).decisions).toBeNull()
  })
}

/** Publishes another version, which lists of other tests would show. */
export function fixHereContract(gate: Gate): void {
  const details = detailsOf(gate)

  test('a newer version beside it that is published and does not have it is the fix here', async () => {
    expect(await bringIn(gate, { name: 'bystander', version: '2.0-1' })).toBe('published')
    const { items } = await details('CVE-2026-1003')
    expect(
      items.filter(({ distribution }) => distribution === 'jammy').map(({ name, fixed_here: fix }) => [name, fix]),
    ).toEqual([
      ['bystander', '2.0-1'],
      ['later', null],
    ])
    await gate.call('DELETE', '/artifacts/bystander/2.0-1')
  })
}
