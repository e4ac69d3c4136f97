// Checks of parameters beyond schemas: text that PostgreSQL can store, and filters that exist.
import type { TSchema } from 'typebox'
import { invalidField, type Problem } from '../../domain/problem.ts'
import { isStorable } from '../../domain/storable.ts'

export function unstorable(field: string): Problem {
  return invalidField(field, 'contains NUL or an unpaired surrogate, which cannot be stored')
}

/** @throws Problem('validation_error') naming the field, when the value is a string that no database column can store */
export function requireStorable(field: string, value: unknown): void {
  if (!isStorable(value)) throw unstorable(field)
}

/**
 * A deletion whose filter is mistyped would delete everything of the name.
 * @throws Problem('validation_error') naming the first parameter that the route does not declare
 */
export function requireDeclared(query: object, schema: (TSchema & { properties?: object }) | undefined): void {
  const declared = Object.keys(schema?.properties ?? {})
  const unknown = Object.keys(query).find((name) => !declared.includes(name))
  if (unknown !== undefined)
    throw invalidField(
      unknown.slice(0, 100),
      declared.length === 0
        ? 'this deletion has no parameters'
        : `is no parameter of this deletion; there are ${declared.join(', ')}`,
    )
}
