// The groups that a directory or an identity provider names for an account.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'

/** The rest is not kept: nobody gives rights to so many. */
const MOST_GROUPS = 5_000
const LONGEST_NAME = 1_000

/** Replaces the groups of an account, in the transaction that confirms it. Equal groups change nothing. */
export async function replaceGroups(tx: Db, userId: number, names: readonly string[]): Promise<void> {
  const wanted = new Set(names.filter((name) => name !== '' && name.length <= LONGEST_NAME).slice(0, MOST_GROUPS))
  const rows = await tx.selectFrom('user_groups').select('name').where('user_id', '=', userId).execute()
  const known = new Set(rows.map(({ name }) => name))
  const left = [...known].filter((name) => !wanted.has(name))
  const joined = [...wanted].filter((name) => !known.has(name))
  if (left.length > 0)
    await sql`delete from user_groups where user_id = ${userId} and name = any(${left}::text[])`.execute(tx)
  if (joined.length > 0)
    await sql`insert into user_groups (user_id, name) select ${userId}, unnest(${joined}::text[])
      on conflict do nothing`.execute(tx)
}
