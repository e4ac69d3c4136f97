// A machine as clients of the API see it, and the rules for its fields.
import type { Selectable } from 'kysely'
import { invalidField, Problem } from '../../domain/problem.ts'
import { isoTime, isoTimeOrNull } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import type { MachineRight, MachinesTable } from '../../store/tables.ts'

export const MACHINE_TOKEN_PREFIX = 'svcm_'
export const ENROLMENT_TOKEN_PREFIX = 'svce_'

/** Names and tags are in access logs and file names of clients: no blanks, nothing to escape. */
export const MACHINE_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'
export const TAG_PATTERN = '^[a-z0-9][a-z0-9._:/-]{0,63}$'
export const MOST_TAGS = 50
export const CERTIFICATE_MAX = 1000
/** Machines that are not revoked: listeners keep them in memory. */
const MOST_MACHINES = 100_000

export interface Machine {
  id: number
  name: string
  tags: string[]
  rights: MachineRight[]
  certificate: string | null
  token_hint: string
  enrolment_id: number | null
  created_at: string
  created_by: string
  last_seen: string | null
  revoked_at: string | null
}

export interface MachineWithToken extends Machine {
  token: string
}

export type MachineRow = Selectable<MachinesTable>

export function machineOf(row: MachineRow): Machine {
  const { id, name, tags, rights, certificate, token_hint, enrolment_id, created_by } = row
  return {
    ...{ id, name, tags, rights, certificate, token_hint, enrolment_id, created_by },
    created_at: isoTime(row.created_at),
    last_seen: isoTimeOrNull(row.last_seen),
    revoked_at: isoTimeOrNull(row.revoked_at),
  }
}

/** Sorted, each once. @throws Problem `validation_error` */
export function requireTags(tags: readonly string[]): string[] {
  const wrong = tags.find((tag) => !new RegExp(TAG_PATTERN).test(tag))
  if (wrong !== undefined)
    throw invalidField('tags', `${JSON.stringify(wrong)} is no tag: small letters, digits and . _ : / -`)
  if (tags.length > MOST_TAGS) throw invalidField('tags', `at most ${MOST_TAGS}`)
  return [...new Set(tags)].sort()
}

/** @throws Problem `machines_full` */
export async function requireRoom(tx: Db): Promise<void> {
  const { count } = await tx
    .selectFrom('machines')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (count >= MOST_MACHINES)
    throw new Problem('machines_full', `there are ${MOST_MACHINES} machines; revoke those that are gone`)
}
