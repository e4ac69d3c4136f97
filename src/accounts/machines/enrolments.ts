// Tokens that only enrol machines: for images and configuration management, which must not hold the token of a machine.
import { sql, type ExpressionBuilder, type Selectable } from 'kysely'
import type { Origin } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { HOUR_MS } from '../../domain/durations.ts'
import { Problem } from '../../domain/problem.ts'
import { isoTime, isoTimeOrNull, type Clock } from '../../kernel/clock.ts'
import { randomToken } from '../../kernel/crypto.ts'
import { createSerial } from '../../kernel/serial.ts'
import { tokenDigest } from '../../kernel/token-digest.ts'
import type { MachineEnrolmentsTable, Tables } from '../../store/tables.ts'
import { change, type ChangeDeps } from '../change.ts'
import { ENROLMENT_TOKEN_PREFIX, requireTags, type MachineWithToken } from './machine.ts'
import { insertMachine } from './machines.ts'

export interface Enrolment {
  id: number
  name: string
  tags: string[]
  most: number
  used: number
  token_hint: string
  created_at: string
  created_by: string
  expires_at: string
  revoked_at: string | null
  active: boolean
}

export interface Enrolments {
  /** All, newest first. */
  list(): Promise<Enrolment[]>
  /** @throws Problem `not_found` */
  find(id: number): Promise<Enrolment>
  /** @throws Problem `validation_error` */
  create(
    wanted: { name: string; tags?: readonly string[]; most: number; expires_hours: number },
    by: Caller,
    origin: Origin,
  ): Promise<Enrolment & { token: string }>
  /** Machines that it enrolled stay. @throws Problem `not_found`, also for one that is revoked already */
  revoke(id: number, by: Caller, origin: Origin): Promise<void>
  /**
   * Enrols a machine.
   * @throws Problem `unauthorized` with one sentence for every reason: unknown, revoked, expired or used up; `already_exists`,
   * `machines_full`
   */
  enrol(given: { token: string; name: string }, origin: Origin): Promise<MachineWithToken>
}

const LISTED = 1000

export function createEnrolments(deps: ChangeDeps & { clock: Clock }): Enrolments {
  const { db, clock } = deps
  const viewOf = (row: Selectable<MachineEnrolmentsTable>): Enrolment => ({
    ...{ id: row.id, name: row.name, tags: row.tags, most: row.most, used: row.used, token_hint: row.token_hint },
    ...{ created_at: isoTime(row.created_at), created_by: row.created_by, expires_at: isoTime(row.expires_at) },
    revoked_at: isoTimeOrNull(row.revoked_at),
    active: row.revoked_at === null && row.expires_at > clock.now() && row.used < row.most,
  })

  /** All that one token enrols wait for its row: here, because each that waits in the database takes a connection from everybody. */
  const inTurn = createSerial()
  const mayEnrol = (token: string) => (is: ExpressionBuilder<Tables, 'machine_enrolments'>) =>
    is.and([
      is('token_hash', '=', tokenDigest(token, false)),
      is('revoked_at', 'is', null),
      is('expires_at', '>', clock.now()),
      is('used', '<', is.ref('most')),
    ])

  const enrolOne = (token: string, name: string, origin: Origin) =>
    change(deps, 'enrolment', origin, async (tx, note) => {
      const now = clock.now()
      const row = await tx
        .updateTable('machine_enrolments')
        .set({ used: sql<number>`used + 1` })
        .where(mayEnrol(token))
        .returningAll()
        .executeTakeFirst()
      if (!row) throw enrolsNone()
      const by = `enrolment:${row.name}`
      const made = await insertMachine(tx, { name, tags: row.tags }, { by, enrolment: row.id, now })
      await note('MACHINE_ENROL', `machine ${name} enrolled`, { machine_id: made.id, enrolment_id: row.id }, by)
      return made
    })

  return {
    async list() {
      const rows = await db.selectFrom('machine_enrolments').selectAll().orderBy('id', 'desc').limit(LISTED).execute()
      return rows.map(viewOf)
    },

    async find(id) {
      const row = await db.selectFrom('machine_enrolments').selectAll().where('id', '=', id).executeTakeFirst()
      if (!row) throw new Problem('not_found', 'there is no such enrolment')
      return viewOf(row)
    },

    create: ({ name, tags = [], most, expires_hours }, by, origin) =>
      change(deps, by.name, origin, async (tx, note) => {
        const token = ENROLMENT_TOKEN_PREFIX + randomToken(32)
        const now = clock.now()
        const row = await tx
          .insertInto('machine_enrolments')
          .values({
            ...{ name, tags: requireTags(tags), most, created_at: now, created_by: by.name },
            ...{ token_hash: tokenDigest(token, false), token_hint: token.slice(-4) },
            expires_at: new Date(now.getTime() + expires_hours * HOUR_MS),
          })
          .returningAll()
          .executeTakeFirstOrThrow()
        await note('ENROLMENT_CREATE', `enrolment ${name} for at most ${most} machines`, {
          ...{ enrolment_id: row.id, tags: row.tags, expires_at: isoTime(row.expires_at) },
        })
        return { ...viewOf(row), token }
      }),

    revoke: (id, by, origin) =>
      change(deps, by.name, origin, async (tx, note) => {
        const row = await tx
          .updateTable('machine_enrolments')
          .set({ revoked_at: clock.now() })
          .where('id', '=', id)
          .where('revoked_at', 'is', null)
          .returning('name')
          .executeTakeFirst()
        if (!row) throw new Problem('not_found', 'there is no such live enrolment')
        await note('ENROLMENT_REVOKE', `enrolment ${row.name} revoked`, { enrolment_id: id })
      }),

    async enrol({ token, name }, origin) {
      const found = await db.selectFrom('machine_enrolments').select('id').where(mayEnrol(token)).executeTakeFirst()
      if (!found) throw enrolsNone()
      return inTurn(() => enrolOne(token, name, origin))
    },
  }
}

const enrolsNone = () => new Problem('unauthorized', 'this token enrols no machine: unknown, ended or used up')
