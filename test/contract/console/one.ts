// One user, token, source, reservation, decision and distribution: the same as its entry in the list.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'

type Entry = Record<string, unknown>

/** The list of each kind, the key of its entries, and the key that the address of one has. */
const KINDS = [
  ['/auth/users', 'users', 'username', 'nobody'],
  ['/auth/api-tokens', 'tokens', 'token_id', 'nobody'],
  ['/import/sources', 'sources', 'id', '999999'],
  ['/import/reservations', 'reservations', 'id', '999999'],
  ['/security/decisions', 'decisions', 'id', '999999'],
  ['/distributions', 'distributions', 'codename', 'warty'],
] as const

export function oneContract(gate: Gate): void {
  test.each(KINDS)(
    '%s/{one} answers the entry of the list, and 404 for another',
    async (path, entries, key, unknown) => {
      if (entries === 'reservations') await gate.call('POST', path, { body: { pattern: 'one-of-*' } })
      const { body } = await gate.call<Record<string, Entry[]>>('GET', path)
      const list = body[entries] as Entry[]
      expect(list.length).toBeGreaterThan(0)
      for (const entry of [list[0], list.at(-1)] as Entry[]) {
        const one = await gate.call<Entry>('GET', `${path}/${encodeURIComponent(String(entry[key]))}`)

        expect([one.status, one.body]).toEqual([200, entry])
      }
      const none = await gate.call('GET', `${path}/${unknown}`)
      expect([none.status, none.body['code']]).toEqual([404, 'not_found'])
    },
  )

  test('a source is found by its key too, and a user whatever the case of the name', async () => {
    const { body } = await gate.call<{ sources: { id: number; key: string | null }[] }>('GET', '/import/sources')
    const { id, key } = body.sources.find((source) => source.key !== null) as { id: number; key: string }
    expect((await gate.call('GET', `/import/sources/${key}`)).body).toMatchObject({ id, key })
    expect((await gate.call('GET', '/auth/users/READER-Person')).body).toMatchObject({ username: 'reader-person' })
  })

  test('a revoked token is still shown', async () => {
    const created = await gate.call<{ token_id: string }>('POST', '/auth/api-tokens', { body: { name: 'shown-once' } })
    const path = `/auth/api-tokens/${created.body.token_id}`
    await gate.call('DELETE', path)
    expect((await gate.call('GET', path)).body).toMatchObject({ name: 'shown-once', active: false })
  })
}
