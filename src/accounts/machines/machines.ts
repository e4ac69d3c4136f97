// Machines: each signs in with a token of its own, which is shown once and stored as a digest.
import { sql } from 'kysely'
import type { Origin } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../domain/problem.ts'
import type { Clock } from '../../kernel/clock.ts'
import { randomToken } from '../../kernel/crypto.ts'
import { tokenDigest } from '../../kernel/token-digest.ts'
import { certificateKey } from '../../serve/access/facts.ts'
import type { Db } from '../../store/db.ts'
import { unlessTaken } from '../../store/unique.ts'
import { change, type ChangeDeps } from '../change.ts'
import {
  machineOf,
  MACHINE_TOKEN_PREFIX,
  requireRoom,
  requireTags,
  type Machine,
  type MachineRow,
  type MachineWithToken,
} from './machine.ts'

const TAKEN = 'another live machine has this name or certificate'

export interface MachineFields {
  name: string
  tags?: readonly string[] | undefined
  certificate?: string | null | undefined
}

export interface MachineFilter {
  tag?: string | undefined
  /** part of a name */
  q?: string | undefined
  state: 'live' | 'revoked' | 'all'
}

export interface Machines {
  page(filter: MachineFilter, at: { page: number; perPage: number }): Promise<{ machines: Machine[]; total: number }>
  /** @throws Problem `not_found` */
  find(id: number): Promise<Machine>
  /** @throws Problem `already_exists` (name or certificate of a live machine), `validation_error`, `machines_full` */
  create(fields: MachineFields, by: Caller, origin: Origin): Promise<MachineWithToken>
  /** @throws Problem as `create`, `not_found` also for a revoked machine */
  update(
    id: number,
    fields: Partial<MachineFields>,
    by: Caller,
    origin: Origin,
    check?: (before: Machine) => void,
  ): Promise<Machine>
  /** A new token in place of the old one, which ends. @throws Problem `not_found` */
  renew(id: number, by: Caller, origin: Origin): Promise<MachineWithToken>
  /** @throws Problem `not_found`, also for a machine that is revoked already */
  revoke(id: number, by: Caller, origin: Origin): Promise<void>
}

export function createMachines(deps: ChangeDeps & { clock: Clock }): Machines {
  const { db, clock } = deps

  async function live(tx: Db, id: number): Promise<MachineRow> {
    const row = await tx
      .selectFrom('machines')
      .selectAll()
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .forUpdate()
      .executeTakeFirst()
    if (!row) throw new Problem('not_found', 'there is no such live machine')
    return row
  }

  return {
    async page({ tag, q, state }, { page, perPage }) {
      const matching = db
        .selectFrom('machines')
        .$if(tag !== undefined, (query) => query.where(sql<boolean>`tags @> array[${tag}]::text[]`))
        .$if(q !== undefined, (query) => query.where(sql<boolean>`strpos(lower(name), ${q?.toLowerCase()}) > 0`))
        .$if(state === 'live', (query) => query.where('revoked_at', 'is', null))
        .$if(state === 'revoked', (query) => query.where('revoked_at', 'is not', null))
      const { total } = await matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
      const rows = await matching
        .selectAll()
        .orderBy(sql`lower(name)`)
        .orderBy('id')
        .limit(perPage)
        .offset((page - 1) * perPage)
        .execute()
      return { machines: rows.map(machineOf), total }
    },

    async find(id) {
      const row = await db.selectFrom('machines').selectAll().where('id', '=', id).executeTakeFirst()
      if (!row) throw new Problem('not_found', 'there is no such machine')
      return machineOf(row)
    },

    create: (fields, by, origin) =>
      change(deps, by.name, origin, async (tx, note) => {
        const made = await insertMachine(tx, fields, { by: by.name, enrolment: null, now: clock.now() })
        await note('MACHINE_CREATE', `machine ${made.name} created`, { machine_id: made.id, tags: made.tags })
        return made
      }),

    update: (id, fields, by, origin, check) =>
      change(deps, by.name, origin, async (tx, note) => {
        const before = await live(tx, id)
        check?.(machineOf(before))
        const next = {
          name: fields.name ?? before.name,
          tags: fields.tags ? requireTags(fields.tags) : before.tags,
          certificate: fields.certificate === undefined ? before.certificate : keyOf(fields.certificate),
        }
        const row = await unlessTaken(
          tx.updateTable('machines').set(next).where('id', '=', id).returningAll().executeTakeFirstOrThrow(),
          TAKEN,
        )
        await note('MACHINE_UPDATE', `machine ${row.name} changed`, { machine_id: id, ...next })
        return machineOf(row)
      }),

    renew: (id, by, origin) =>
      change(deps, by.name, origin, async (tx, note) => {
        await live(tx, id)
        const { token, stored } = newToken()
        const row = await tx
          .updateTable('machines')
          .set(stored)
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow()
        await note('MACHINE_RENEW', `machine ${row.name} has a new token`, { machine_id: id })
        return { ...machineOf(row), token }
      }),

    revoke: (id, by, origin) =>
      change(deps, by.name, origin, async (tx, note) => {
        const { name } = await live(tx, id)
        await tx.updateTable('machines').set({ revoked_at: clock.now() }).where('id', '=', id).execute()
        await note('MACHINE_REVOKE', `machine ${name} revoked`, { machine_id: id })
      }),
  }
}

/** @throws Problem `already_exists`, `validation_error`, `machines_full` */
export async function insertMachine(
  tx: Db,
  { name, tags = [], certificate = null }: MachineFields,
  { by, enrolment, now }: { by: string; enrolment: number | null; now: Date },
): Promise<MachineWithToken> {
  await requireRoom(tx)
  const fields = { name, tags: requireTags(tags), certificate: keyOf(certificate) }
  const { token, stored } = newToken()
  const values = {
    ...fields,
    ...stored,
    rights: ['read' as const],
    enrolment_id: enrolment,
    created_at: now,
    created_by: by,
  }
  const row = await unlessTaken(
    tx.insertInto('machines').values(values).returningAll().executeTakeFirstOrThrow(),
    TAKEN,
  )
  return { ...machineOf(row), token }
}

function newToken() {
  const token = MACHINE_TOKEN_PREFIX + randomToken(32)
  return { token, stored: { token_hash: tokenDigest(token, false), token_hint: token.slice(-4) } }
}

const keyOf = (certificate: string | null) => (certificate === null ? null : certificateKey(certificate) || null)
