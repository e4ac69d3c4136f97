// Which text a request may carry: what PostgreSQL can keep.
import { invalidField, type Problem } from '../domain/problem.ts'

/** `text` and `jsonb` take neither NUL nor half of a surrogate pair: https://www.postgresql.org/docs/15/datatype-json.html */
const UNSTORABLE = /[\0\p{Cs}]/u

/** False for a text that no database column can keep. */
export function isStorable(value: unknown): boolean {
  return !(typeof value === 'string' && UNSTORABLE.test(value))
}

export function unstorable(field: string): Problem {
  return invalidField(field, 'contains NUL or an unpaired surrogate, which cannot be stored')
}

/** @throws Problem('validation_error') naming the field, when the value is a text that no database column can keep */
export function requireStorable(field: string, value: unknown): void {
  if (!isStorable(value)) throw unstorable(field)
}
