// Checks that text in a request can be stored by PostgreSQL.
import { invalidField, type Problem } from '../domain/problem.ts'

/** `text` and `jsonb` take neither NUL nor half of a surrogate pair: https://www.postgresql.org/docs/15/datatype-json.html */
const UNSTORABLE = /[\0\p{Cs}]/u

/** False for a string that no database column can store. */
export function isStorable(value: unknown): boolean {
  return !(typeof value === 'string' && UNSTORABLE.test(value))
}

export function unstorable(field: string): Problem {
  return invalidField(field, 'contains NUL or an unpaired surrogate, which cannot be stored')
}

/** @throws Problem('validation_error') naming the field, when the value is a string that no database column can store */
export function requireStorable(field: string, value: unknown): void {
  if (!isStorable(value)) throw unstorable(field)
}
