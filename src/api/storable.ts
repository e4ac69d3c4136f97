// Which text a request may carry: what PostgreSQL can keep. Knows no route.
import { invalidField } from '../domain/problem.ts'

/** `text` and `jsonb` take neither NUL nor half of a surrogate pair: https://www.postgresql.org/docs/15/datatype-json.html */
const UNSTORABLE = /[\0\p{Cs}]/u

/** @throws Problem('validation_error') naming the field, when the value is a text that no database column could keep */
export function requireStorable(field: string, value: unknown): void {
  if (typeof value === 'string' && UNSTORABLE.test(value))
    throw invalidField(field, 'holds NUL or half a character, which cannot be kept')
}
