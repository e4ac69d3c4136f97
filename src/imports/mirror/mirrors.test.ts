// What happens when two people change a mirror at the same time.
import { sql } from 'kysely'
import Value from 'typebox/value'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, meanwhile } from '../../../test/database.ts'
import { selectionOf } from '../../domain/mirror-selection.ts'
import { Problem } from '../../domain/problem.ts'
import { SettingsSchema } from '../../domain/settings.ts'
import { findDistribution } from '../../formats/index.ts'
import type { Database, Db } from '../../store/db.ts'
import type { MirrorRow } from '../../store/tables.ts'
import { createMirrors } from './mirrors.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.close())

test('a selection that somebody else replaced meanwhile is not replaced, two at once do not both pass, and one of an older build has the defaults', async () => {
  const { db } = database
  const source = await db
    .insertInto('sources')
    .values({
      ...{ key: null, name: 'vendor', type: 'apt', url: 'http://vendor.example/', distribution: 'stable' },
      ...{ target: 'noble', created_at: new Date(), created_by: 'ann' },
      ...{ components: [], architectures: [], enabled: true, security: false, keys: '[]', allow_unsigned: true },
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  let now = 0
  const mirrors = createMirrors({
    db,
    clock: { now: () => new Date(Date.UTC(2026, 0, 1) + ++now * 1000) },
    audit: { record: async () => {} },
    sources: { find: async () => source, all: async () => [source], isEnabled: () => true },
    registry: {
      find: findDistribution,
      place: findDistribution,
      isActive: () => true,
      recognize: () => null,
      distributions: [],
    },
    settings: () => Value.Create(SettingsSchema),
  })
  const seen = (state: MirrorRow | null) => (before: MirrorRow | null) => {
    if (before?.updated_at.getTime() !== state?.updated_at.getTime()) throw new Problem('changed_meanwhile', 'changed')
  }
  const put = (glob: string, state: MirrorRow | null) => {
    const fields = { distribution: null, enabled: true, selection: selectionOf({ globs: [glob] }) }
    return mirrors.put(String(source.id), fields, { name: glob } as never, { ip: null, requestId: null }, seen(state))
  }
  const first = await Promise.allSettled([put('a', null), put('b', null)])
  expect(first.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const { row } = await mirrors.find(String(source.id))
  await put('c', row)
  await expect(put('d', row)).rejects.toMatchObject({ code: 'changed_meanwhile' })
  expect((await mirrors.find(String(source.id))).selection.globs).toEqual(['c'])

  // As an older build stored it.
  await sql`update mirrors set selection = selection - 'with_dependencies'`.execute(db)
  expect((await mirrors.find(String(source.id))).selection).toEqual(selectionOf({ globs: ['c'] }))
  expect((await mirrors.all())[0]?.row?.selection).toEqual(selectionOf({ globs: ['c'] }))

  const deletion = (tx: Db) => tx.deleteFrom('sources').execute()
  await expect(meanwhile(database, deletion, () => put('e', null))).rejects.toMatchObject({ code: 'not_found' })
})
