// Validates parameters and bodies at a cost that does not grow with the number of faults.
import { Ajv, type ErrorObject } from 'ajv'
import { Problem } from '../../domain/problem.ts'
import { keepDeclared } from './declared-keys.ts'

/** Faults in one answer. */
const MOST_ERRORS = 20
/** Input up to this size is checked for all faults, so that one answer names all faults of a form. */
const SMALL_CHARACTERS = 4096

interface Validate {
  (data: unknown): true | { error: Problem }
}

/**
 * For Fastify's `setValidatorCompiler`. Strings of query and path are converted to the types of the schema; a JSON body
 * must have the right types and loses the keys that are not declared. Larger input is checked up to the first fault: finding all faults of 1 MB took 91 s.
 */
export function validatorCompiler(): (compiling: { schema: unknown; httpPart?: string }) => Validate {
  const options = { useDefaults: true, strict: false } as const
  const first = new Ajv(options)
  const all = new Ajv({ ...options, allErrors: true })
  const coercing = new Ajv({ ...options, allErrors: true, coerceTypes: true })
  return ({ schema, httpPart }) => {
    // Parameters are short: a request header has at most 16 KiB.
    const toFirst = (httpPart === 'body' ? first : coercing).compile(schema as object)
    const toEnd = httpPart === 'body' ? all.compile(schema as object) : toFirst
    const clean = httpPart === 'body' ? keepDeclared(schema as object) : () => {}
    return (data) => {
      if (toFirst(data)) {
        clean(data)
        return true
      }
      const validate = toFirst !== toEnd && isSmall(data) ? toEnd : toFirst
      if (validate !== toFirst) validate(data)
      return { error: invalid(validate.errors ?? [], httpPart) }
    }
  }
}

function isSmall(data: unknown): boolean {
  let characters = 0
  const pending: unknown[] = [data]
  while (pending.length > 0) {
    const value = pending.pop()
    characters += typeof value === 'string' ? value.length : 4
    if (characters > SMALL_CHARACTERS) return false
    if (Array.isArray(value)) {
      if (characters + pending.length + value.length > SMALL_CHARACTERS) return false
      pending.push(...(value as unknown[]))
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        characters += key.length
        pending.push(inner)
      }
    }
  }
  return true
}

/** The answer to schema faults, with one fault per field, because each branch of a union reports its own. */
export function invalid(faults: readonly Partial<ErrorObject>[], where = 'body'): Problem {
  const byField = new Map<string, string>()
  for (const { instancePath = '', params, keyword, message = 'is invalid' } of faults) {
    if (byField.size === MOST_ERRORS) break
    const { missingProperty } = (params ?? {}) as { missingProperty?: string }
    const path = [instancePath.slice(1).replaceAll('/', '.'), missingProperty].filter(Boolean).join('.')
    const field = (path || where).slice(0, 200)
    if (!byField.has(field)) byField.set(field, keyword === 'required' ? 'is required' : message)
  }
  const errors = [...byField].map(([field, message]) => ({ field, message }))
  const [worst] = errors
  return new Problem('validation_error', `${worst?.field ?? where}: ${worst?.message ?? 'is invalid'}`, { errors })
}
