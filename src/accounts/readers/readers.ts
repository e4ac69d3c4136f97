// Who may read what: private places, and the people, groups and machines that have a right to read them. Rights concern package
// clients only; the API and the console follow roles.
import type { Selectable } from 'kysely'
import type { Caller } from '../../domain/caller.ts'
import type { Origin } from '../../domain/audit.ts'
import { invalidField, Problem } from '../../domain/problem.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import type { ReaderKind, ReadersTable } from '../../store/tables.ts'
import { change, type ChangeDeps } from '../change.ts'
import { usernameKey } from '../user.ts'

export const READER_KINDS = ['person', 'group', 'machine', 'tag'] as const satisfies readonly ReaderKind[]
export const READER_NAME_MAX = 1000
/** All are read for each change of rights. */
const MOST_READERS = 10_000

export interface ReaderView {
  id: number
  place: string
  kind: ReaderKind
  name: string
  created_at: string
  created_by: string
}

export interface Readers {
  /** @param place left out: of all places */
  list(place?: string): Promise<ReaderView[]>
  /** @throws Problem `not_found` */
  find(id: number): Promise<ReaderView>
  /** @throws Problem `not_found` (place, person or machine), `already_exists`, `validation_error` when there are too many */
  add(wanted: { place: string; kind: ReaderKind; name: string }, by: Caller, origin: Origin): Promise<ReaderView>
  /** @throws Problem `not_found` */
  remove(id: number, by: Caller, origin: Origin): Promise<void>
  /**
   * @param check is given whether it is private before the change
   * @returns whether it changed
   * @throws Problem `not_found`, and what `check` throws
   */
  setPrivate(
    place: string,
    isPrivate: boolean,
    by: Caller,
    origin: Origin,
    check?: (before: { private: boolean }) => void,
  ): Promise<boolean>
}

/** @param deps.changed called after each change, before its answer: listeners learn of it at once */
export function createReaders(deps: ChangeDeps & { clock: Clock; changed(): Promise<void> }): Readers {
  const { db, clock } = deps

  return {
    async list(place) {
      const rows = await db
        .selectFrom('readers')
        .selectAll()
        .$if(place !== undefined, (query) => query.where('place', '=', place as string))
        .orderBy('place')
        .orderBy('kind')
        .orderBy('name')
        .limit(MOST_READERS)
        .execute()
      return rows.map(viewOf)
    },

    async find(id) {
      const row = await db.selectFrom('readers').selectAll().where('id', '=', id).executeTakeFirst()
      if (!row) throw unknownReader()
      return viewOf(row)
    },

    async add({ place, kind, name }, by, origin) {
      const row = await change(deps, by.name, origin, async (tx, note) => {
        await requirePlace(tx, place)
        const { count } = await tx
          .selectFrom('readers')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow()
        if (count >= MOST_READERS) throw invalidField('place', `there are ${MOST_READERS} rights to read`)
        const added = await tx
          .insertInto('readers')
          .values({
            ...{ place, kind, ...(await whoIs(tx, kind, name)) },
            ...{ created_at: clock.now(), created_by: by.name },
          })
          .onConflict((conflict) => conflict.doNothing())
          .returningAll()
          .executeTakeFirst()
        if (!added) throw new Problem('already_exists', `the ${kind} ${name} may read ${place} already`)
        await note('READER_ADD', `${kind} ${added.name} may read ${place}`, { place, kind, name: added.name })
        return added
      })
      await deps.changed()
      return viewOf(row)
    },

    async remove(id, by, origin) {
      await change(deps, by.name, origin, async (tx, note) => {
        const row = await tx.deleteFrom('readers').where('id', '=', id).returningAll().executeTakeFirst()
        if (!row) throw unknownReader()
        const { place, kind, name } = row
        await note('READER_REMOVE', `${kind} ${name} may no longer read ${place}`, { place, kind, name })
      })
      await deps.changed()
    },

    async setPrivate(place, isPrivate, by, origin, check) {
      const isNew = await change(deps, by.name, origin, async (tx, note) => {
        check?.(await requirePlace(tx, place))
        const changed = await tx
          .updateTable('distributions')
          .set({ private: isPrivate })
          .where('codename', '=', place)
          .where('private', '=', !isPrivate)
          .returning('codename')
          .executeTakeFirst()
        if (!changed) return false
        const detail = isPrivate ? `${place} is private: clients must sign in` : `${place} is public`
        await note('DISTRIBUTION_ACCESS', detail, { distribution: place, private: isPrivate })
        return true
      })
      await deps.changed()
      return isNew
    },
  }
}

/** @throws Problem `not_found` */
async function requirePlace(tx: Db, place: string): Promise<{ private: boolean }> {
  const found = await tx
    .selectFrom('distributions')
    .select('private')
    .where('codename', '=', place)
    .forUpdate()
    .executeTakeFirst()
  if (!found) throw new Problem('not_found', `there is no distribution ${place}`)
  return found
}

/**
 * The row that a name means, which stays until the transaction ends. A right ends with the account or machine, and is not inherited by
 * a later one of its name.
 */
async function whoIs(
  tx: Db,
  kind: ReaderKind,
  name: string,
): Promise<Pick<ReadersTable, 'name'> & { user_id: number | null; machine_id: number | null }> {
  if (kind === 'person') {
    const user = await tx
      .selectFrom('users')
      .select(['id', 'username'])
      .where('username_key', '=', usernameKey(name))
      .forKeyShare()
      .executeTakeFirst()
    if (!user) throw new Problem('not_found', `there is no user ${name}`)
    return { name: user.username, user_id: user.id, machine_id: null }
  }
  if (kind === 'machine') {
    const machine = await tx
      .selectFrom('machines')
      .select(['id', 'name'])
      .where(({ fn, eb }) => eb(fn('lower', ['name']), '=', name.toLowerCase()))
      .where('revoked_at', 'is', null)
      .forShare()
      .executeTakeFirst()
    if (!machine) throw new Problem('not_found', `there is no machine ${name}`)
    return { name: machine.name, user_id: null, machine_id: machine.id }
  }
  return { name, user_id: null, machine_id: null }
}

const unknownReader = () => new Problem('not_found', 'there is no such right to read')

const viewOf = ({ id, place, kind, name, created_at, created_by }: Selectable<ReadersTable>): ReaderView => ({
  ...{ id, place, kind, name, created_by },
  created_at: isoTime(created_at),
})
