// Rights to read a private place, asked for one request: for repositories, whose files pass through the API. Listeners have the facts.
import { sql } from 'kysely'
import { digestsOf } from '../../serve/access/credentials.ts'
import type { Db } from '../../store/db.ts'
import { isGroup } from '../ldap/names.ts'

export interface PlaceRights {
  /** Whether the place has rights at all: until then, everybody with an account may read it. */
  isRestricted(place: string): Promise<boolean>
  /** Whether the token in an `Authorization` header is that of a machine with a right to one of the places. */
  ofMachine(authorization: string | undefined, places: readonly string[]): Promise<boolean>
  /** The name of the machine whose token is in an `Authorization` header; null for any other. */
  machineOf(authorization: string | undefined): Promise<string | null>
  /** Whether a person, or a group that the person is in, has a right. */
  ofPerson(userId: number, place: string): Promise<boolean>
}

export function createPlaceRights(db: Db): PlaceRights {
  return {
    async isRestricted(place) {
      return Boolean(await db.selectFrom('readers').select('id').where('place', '=', place).limit(1).executeTakeFirst())
    },
    async ofMachine(authorization, places) {
      const digests = authorization === undefined ? [] : digestsOf(authorization)
      if (digests.length === 0) return false
      const { rows } = await sql`select 1 from machines m join readers r
          on r.kind = 'machine' and r.machine_id = m.id or r.kind = 'tag' and r.name = any(m.tags)
        where m.token_hash = any(${digests}::text[]) and m.revoked_at is null and 'read' = any(m.rights)
          and r.place = any(${[...places]}::text[]) limit 1`.execute(db)
      return rows.length > 0
    },
    async machineOf(authorization) {
      const digests = authorization === undefined ? [] : digestsOf(authorization)
      if (digests.length === 0) return null
      const machine = await db
        .selectFrom('machines')
        .select('name')
        .where('token_hash', 'in', digests)
        .where('revoked_at', 'is', null)
        .executeTakeFirst()
      return machine?.name ?? null
    },
    async ofPerson(userId, place) {
      const rights = await db
        .selectFrom('readers')
        .select(['kind', 'name', 'user_id'])
        .where('place', '=', place)
        .where('kind', 'in', ['person', 'group'])
        .execute()
      if (rights.some(({ user_id: id }) => id === userId)) return true
      const named = rights.filter(({ kind }) => kind === 'group')
      if (named.length === 0) return false
      const groups = await db.selectFrom('user_groups').select('name').where('user_id', '=', userId).execute()
      return named.some(({ name }) => groups.some((group) => isGroup(group.name, name)))
    },
  }
}
